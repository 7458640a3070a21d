//! Convolutions, and max-pooling over their axes.

mod spatial;
pub mod time_height;

pub use spatial::*;
