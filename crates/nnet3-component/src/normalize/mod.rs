//! Normalisation of rows and of columns.

pub mod batch_norm;
mod rows;

pub use rows::*;
