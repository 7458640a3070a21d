//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Features of sound as it arrives, with i-vectors, and the rules that depend on a search's progress.
//!
//! - [`pipeline`]: from samples to the inputs of a network.
//! - [`ivector`]: i-vectors of the frames so far, and the files that they need.
//! - [`silence`]: weights of frames for i-vectors, by the best path of a search.
//! - [`endpoint`]: detection of the end of speech, by the best path of a search.
//!
//! This crate does not know searches and networks: it takes their results as plain values. It does not log: messages
//! for users are part of the results.

pub mod endpoint;
pub mod error;
pub mod ivector;
mod network;
pub mod pipeline;
pub mod silence;

pub use error::{Error, Result};
pub use network::NetworkFeatures;
pub use pipeline::{OnlineFeaturePipeline, PipelineModel, Speaker};
