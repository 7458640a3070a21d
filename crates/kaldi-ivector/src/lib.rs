//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! I-vector extractors: models of Gaussians whose means move with a vector, the i-vector, of a speaker and a channel
//! (Kaldi's `ivector/ivector-extractor.cc`).
//!
//! The mean of Gaussian g is M_g x for the i-vector x. An extractor has I Gaussians, features of dimension D and i-vectors of
//! dimension S.
//!
//! - [`extractor`]: the model and its file; [`initial`] makes a first one of a mixture; [`terms`] are products of its
//!   matrices.
//! - `utterances.rs`: statistics of a block of utterances, and the objectives of all their i-vectors at once.
//! - [`extract`]: i-vectors of utterances or speakers.
//! - [`accumulate`], [`stats`]: sums over utterances for training, and their file. [`update`]: the model with the largest
//!   objective.
//! - [`online`]: the i-vector of the frames so far, by conjugate gradients; [`growing`]: at every few frames.
//!
//! Work is done in double precision, for many utterances with one matrix product. Results do not depend on the number of
//! threads: the parts of a product are fixed, and sums are added in their order.

pub mod accumulate;
pub mod error;
pub mod extract;
pub mod extractor;
pub mod growing;
pub mod initial;
mod ivector;
pub mod online;
mod parallel;
mod products;
mod random;
mod regression;
pub mod stats;
pub mod terms;
pub mod testing;
pub mod update;
mod utterances;

pub use error::{Error, Result};
pub use extractor::{IvectorExtractor, Weights};
pub use kaldi_numerics::conjugate_gradients::Solution;
pub use online::{FramePosteriors, OnlineStats};
pub use stats::ExtractorStats;
pub use terms::IvectorTerms;
