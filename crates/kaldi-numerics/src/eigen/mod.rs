//! Eigenvalues and eigenvectors of symmetric matrices.
//!
//! - [`signed`]: with the reference's signs and order, for transforms that are written to files.
//! - [`any_sign`]: in decreasing order, with a floor, or as nalgebra finds them, for results in which signs cancel.
//! - [`in_place`]: of small matrices in slices, without allocating, for the natural gradient of each minibatch.

pub mod any_sign;
pub mod in_place;
pub mod signed;
