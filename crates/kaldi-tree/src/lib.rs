//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Phonetic decision trees from data (Kaldi's `tree/`).
//!
//! [`accumulate`] sums features up by phones in context: [`stats::TreeStats`]. [`automatic`] clusters phones into
//! [`questions`] with the algorithms in [`cluster`]. [`build`] splits the leaves of a [`stub`] by the questions that
//! raise the likelihood most, and merges those leaves that differ least. [`init`] gives each leaf a Gaussian. Results
//! are equal to the reference's, bit by bit, except if the reference depends on addresses in memory.

pub mod accumulate;
pub mod automatic;
pub mod build;
pub mod cluster;
pub mod clusterable;
pub mod error;
pub mod gauss;
pub mod init;
mod leaves;
pub mod phone_sets;
pub mod questions;
pub mod scalar;
mod split;
pub mod stats;
pub mod stub;
#[cfg(test)]
use kaldi_io::testing;
pub mod two_level;

pub use clusterable::Clusterable;
pub use error::{Error, Result};
pub use gauss::Gauss;
pub use questions::Questions;
pub use stats::TreeStats;

/// A message of an algorithm while it runs; the caller decides about its output.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    Log(String),
    Warning(String),
    /// A line that is of interest from this `--verbose` level on.
    Verbose(i32, String),
}

/// Hears the messages of an algorithm.
pub type Report<'a> = &'a mut dyn FnMut(Message);

/// The source of an algorithm's random numbers. They are uniform between 0 and `i32::MAX`, as with C's `rand()`.
pub(crate) type Rand<'a> = &'a mut dyn FnMut() -> i32;
