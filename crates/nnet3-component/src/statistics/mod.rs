//! Means and standard deviations over time.

mod extraction;
pub mod pooling;
pub mod summed;

pub use extraction::*;
