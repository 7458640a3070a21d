//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Mixtures of Gaussians (Kaldi's `gmm/`, and the estimators of `transform/` that need mixtures).
//!
//! - [`gmm`], [`model`]: a mixture, and a mixture for each pdf, with their files. [`likelihood`] computes with them.
//! - [`full`]: a mixture with full covariances. [`scorer`], [`selection`]: all Gaussians of one mixture at blocks of frames.
//! - [`stats`], [`model_stats`]: sums over frames for each Gaussian, of one mixture and of all pdfs. [`accumulate`] adds
//!   utterances to those of one mixture. [`pdf_posterior`](pdf_posterior()) says which pdfs a frame belongs to.
//! - [`update`], [`resize`], [`sharing`], [`smooth`], [`global`]: estimates, numbers of Gaussians, first models.
//!   [`full_update`], [`full_resize`]: the same for full covariances. [`init`]: a first mixture from random frames.
//! - [`mllt`], [`fmllr`], [`fmllr_update`], [`basis`]: linear transforms of features, for all speakers and for one.
//!
//! Models are in single precision, sums in double precision, as in the reference. This crate does not print: messages
//! for users are part of results, or are passed to a function as sentences.

pub mod accumulate;
pub mod basis;
mod covariance;
pub mod error;
pub mod flags;
pub mod fmllr;
pub mod fmllr_update;
pub mod full;
pub mod full_resize;
pub mod full_update;
pub mod global;
pub mod gmm;
pub mod init;
pub mod likelihood;
pub mod mllt;
pub mod model;
pub mod model_stats;
mod outer;
pub mod parameters;
mod pdf_posterior;
mod products;
pub mod random;
pub mod resize;
pub mod scorer;
pub mod selection;
pub mod sharing;
pub mod smooth;
pub mod stats;
#[cfg(test)]
use kaldi_io::testing;
#[cfg(test)]
mod testing_models;
pub mod update;

pub use error::{Error, Result};
pub use flags::Parts;
pub use full::FullGmm;
pub use gmm::DiagGmm;
pub use likelihood::Likelihoods;
pub use model::AmDiagGmm;
pub use model_stats::{Accumulator, ModelStats};
pub use pdf_posterior::pdf_posterior;
pub use scorer::Scorer;
pub use stats::{FullGmmStats, GmmStats};
