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

pub mod accuracy;
pub mod acoustic;
pub mod augment;
pub mod average;
pub mod chunk;
pub mod combine;
pub mod copy;
pub mod diagnostics;
pub mod error;
pub mod example;
pub mod example_table;
pub mod finite;
pub mod forward;
mod keys;
pub mod learn;
pub mod ledger;
pub mod max_change;
pub mod merge;
pub mod merge_sizes;
pub mod minibatch;
pub mod norm_limits;
pub mod objective;
pub mod phase_stats;
pub mod progress;
pub mod ranges;
pub mod replicas;
pub mod request;
pub mod sequence;
pub mod shuffle;
pub mod split;
pub mod split_table;
pub mod subset;
#[cfg(test)]
mod testing;
pub mod times;
pub mod trainer;
pub mod update;

pub use error::{Error, Result};
pub use example::{Example, ExampleHolder, NnetExample, NnetIo};
pub use example_table::{EgsReader, ExampleReader, ExampleSource};
pub use nnet3_core::{CRand, Mersenne};
pub use sequence::{SequenceExample, SequenceOutput, SequenceSupervision};
