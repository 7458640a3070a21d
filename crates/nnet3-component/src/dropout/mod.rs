//! Dropout of elements, of rows and of bands.

pub mod general_dropout;
mod plain;
pub mod spec_augment;

pub use plain::*;
