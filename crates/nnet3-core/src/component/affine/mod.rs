//! Affine functions: of whole rows, of blocks, of several times.

pub mod block_affine;
mod dense;
pub mod fixed;
pub mod linear;
pub mod repeated;
pub mod tdnn;
pub mod tdnn_keys;

pub use dense::*;
