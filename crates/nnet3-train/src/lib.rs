//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Examples, objectives, training, averaging and diagnostics of nnet3 networks.
//!
//! This crate does the work of a program between reading its options and choosing its exit status. It does not print:
//! functions return their results, and long work reports [`trainer::Event`]s to its caller.
//!
//! Examples go through [`split`] and [`chunk`] (features and targets → examples; [`ranges`] for speakers), [`augment`],
//! [`copy`], [`shuffle`], [`subset`] and [`merge`] (examples → minibatches). All but the first three work on any kind
//! of [`Example`]. An [`objective`] makes a [`request`] of a minibatch; [`trainer`] or [`diagnostics`] runs its
//! program. [`minibatch`] gives the inputs, the objective turns outputs into derivatives, and [`update`] changes the
//! parameters. These modules do not depend on the kind of example; neither do [`replicas`] (several trainers side by
//! side), [`combine`] and [`progress`]. [`average`] works on whole networks; [`acoustic`] joins a network with a
//! transition model and priors.

pub mod error;
mod examples;
mod keys;
pub mod learn;
mod models;
pub mod objective;
#[cfg(test)]
mod testing;
mod training;

pub use error::{Error, Result};
pub use example::{Example, ExampleHolder, NnetExample, NnetIo};
pub use example_table::{EgsReader, ExampleReader, ExampleSource};
pub use examples::{
    augment, chunk, copy, example, example_table, finite, merge, merge_sizes, ranges, sequence, shuffle,
    split, split_table, subset,
};
pub use models::{accuracy, acoustic, average, combine, diagnostics, forward, progress};
pub use nnet3_core::{CRand, Mersenne};
pub use sequence::{SequenceExample, SequenceOutput, SequenceSupervision};
pub use training::{
    ledger, max_change, minibatch, norm_limits, phase_stats, replicas, request, times, trainer, update,
};
