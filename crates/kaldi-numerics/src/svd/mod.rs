//! Singular values and their vectors.
//!
//! - [`left`]: left vectors of square matrices with the reference's signs, for transforms that are written to files.

pub mod left;
