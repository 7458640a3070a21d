//! Discriminative training from lattices: the criteria MMI (with boosting), MPFE and sMBR.
//!
//! An example has inputs like any other; its outputs have [`Supervision`]: the alignment of what was said, and a denominator
//! lattice of what a recogniser made of it. [`nnet3_train::sequence`] has what examples with supervision have in common. [`split`]
//! cuts the lattice of an utterance, [`chunk`] makes examples of utterances, [`objective`] evaluates the output for a
//! minibatch, and [`training`] gives that to the trainer.

pub mod chunk;
mod merge;
pub mod objective;
pub mod options;
pub mod split;
mod store;
pub mod sums;
pub mod supervision;
pub mod training;

use kaldi_io::holder::ObjectHolder;
use nnet3_train::{SequenceExample, SequenceOutput};

pub use options::{Criterion, DiscriminativeOptions};
pub use supervision::Supervision;

/// One output of an example.
pub type NnetDiscriminativeSupervision = SequenceOutput<Supervision>;

/// One example: a chunk of an utterance or, once merged, a minibatch of chunks.
pub type NnetDiscriminativeExample = SequenceExample<Supervision>;

/// Examples as values of a table.
pub type DiscriminativeExampleHolder = ObjectHolder<NnetDiscriminativeExample>;
