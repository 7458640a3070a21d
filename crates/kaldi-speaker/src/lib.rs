//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Speakers: voice activity, back ends of speaker vectors, equal error rates, clustering of recordings.
//!
//! A speaker vector is an i-vector or an x-vector, in single precision; statistics and models are in double precision.

pub mod cluster;
pub mod eer;
pub mod error;
mod lbfgs;
pub mod lda;
mod linear;
pub mod logistic;
pub mod plda;
pub mod plda_adapt;
pub mod plda_dense;
pub mod plda_estimate;
pub mod vad;
pub mod vad_labels;
pub mod vectors;

pub use error::{Error, Result};
