//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Images for networks.
//!
//! - [`idx`]: files in the format of MNIST.
//! - [`shape`]: images as features, with a row for each column of pixels.

pub mod idx;
pub mod shape;

pub use idx::Idx;
pub use shape::ImageShape;
