//! What is worked out of sound as it arrives, beside the features themselves: i-vectors, and what depends on how far a
//! search over them has come.
//!
//! - [`ivector`]: i-vectors of frames so far, and the files that they need.
//!
//! Nothing is logged: what a user should know is part of the results.

pub mod error;
pub mod ivector;

pub use error::{Error, Result};
