//! Singular values and their vectors.
//!
//! - [`left`]: left vectors of square matrices with the reference's signs, for transforms that are written to files.
//! - [`by_products`]: both sides of any matrix, several times as fast; vectors have any sign.
//! - [`values`]: no vectors.

pub mod by_products;
pub mod left;
pub mod values;
