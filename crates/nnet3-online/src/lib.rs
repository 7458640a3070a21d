//! Recognition of sound while it arrives: features, i-vectors, network and search, each as far as there is something to do.
//!
//! Nothing is logged: what a user should know is part of the results.

pub mod error;
mod recognizer;

pub use error::{Error, Result};
pub use recognizer::{Recognizer, RecognizerModel};
