//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Discriminative training from lattices: the criteria MMI (with boosting), MPFE and sMBR.
//!
//! An example has inputs like any other. Its outputs have [`Supervision`]: the alignment of the transcript, and a denominator
//! lattice, which a recogniser made of the utterance. [`nnet3_train::sequence`] has what examples with supervision have in common.
//! [`split`] cuts the lattice of an utterance, and [`chunk`] makes examples of utterances. [`objective`] evaluates the output for
//! a minibatch, and [`training`] gives that to the trainer.

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
