//! Features of sound as it arrives, with i-vectors, and what depends on how far a search over them has come.
//!
//! - [`pipeline`]: from samples to what a network reads.
//! - [`ivector`]: i-vectors of the frames so far, and the files that they need.
//! - [`silence`]: what frames count for i-vectors, by the best path of a search.
//! - [`endpoint`]: whether the speaker has ended, by the best path of a search.
//!
//! Searches and networks are unknown here: what is needed of them are plain values. Nothing is logged: what a user should
//! know is part of the results.

pub mod endpoint;
pub mod error;
pub mod ivector;
mod network;
pub mod pipeline;
pub mod silence;

pub use error::{Error, Result};
pub use pipeline::{NetworkFeatures, OnlineFeaturePipeline, PipelineModel, Speaker};
