//! Recognition of sound while it arrives: features, i-vectors, network and search, each as far as its input allows.
//!
//! This crate does not log: messages for users are part of the results.

mod acoustics;
pub mod error;
mod recognizer;
pub mod server;
mod spotter;

pub use error::{Error, Result};
pub use recognizer::{Recognizer, RecognizerModel};
pub use spotter::Spotter;
