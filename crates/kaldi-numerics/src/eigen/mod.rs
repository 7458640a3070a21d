//! Eigenvalues and eigenvectors of symmetric matrices.
//!
//! - [`signed`]: with the reference's signs and order, for transforms that are written to files.

pub mod signed;
