//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Operations on features, matrices, posteriors and their statistics, for the programs around the networks.
//!
//! A row of a feature matrix is a frame, a column a dimension. Sums are accumulated in double precision and features
//! are changed in single precision, as in the reference, so that figures agree to the last digits. This crate does not
//! log: messages for users are part of the results.
//!
//! - [`cmvn`], [`online_cmvn`], [`sliding_cmn`]: mean and variance normalisation.
//! - [`frames`], [`deltas`], [`columns`], [`segments`], [`transform`]: new frames from frames.
//! - [`elementwise`], [`sum`]: any matrices and vectors.
//! - [`posterior`]: weights and forms of posteriors.
//! - [`lda`], [`lda_estimate`], [`pca`]: statistics, of classes and without, and the transforms estimated from them.
//!   [`compose`]: products of transforms.
//! - [`spectral`], [`pitch`]: features from sound.
//! - [`perturbation`], [`reverberation`], [`silence`]: changed sound.
//! - [`augmentation`], [`padding`]: changed features, for training.
//! - [`htk`], [`sphinx`], [`wave`]: files of other programs.

pub mod augmentation;
pub mod cmvn;
pub mod columns;
pub mod compare;
pub mod compose;
pub mod deltas;
pub mod elementwise;
pub mod error;
pub mod frames;
pub mod htk;
pub mod lda;
pub mod lda_estimate;
pub mod online_cmvn;
pub mod padding;
pub mod pca;
pub mod perturbation;
pub mod pitch;
pub mod posterior;
pub mod reverberation;
pub mod segments;
pub mod silence;
pub mod sliding_cmn;
pub mod spectral;
pub mod sphinx;
pub mod sum;
#[cfg(test)]
mod testing;
pub mod transform;
pub mod wave;

pub use error::{Error, Result};
