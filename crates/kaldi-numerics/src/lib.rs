//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Linear algebra and sums in the logarithmic domain, for statistics and models.
//!
//! Bytes of models depend on the order of operations. So some problems have several functions here that differ in signs
//! of vectors or in the last bits; each says who needs it.
//!
//! - [`eigen`]: eigenvalues and eigenvectors of symmetric matrices. [`svd`]: singular values and their vectors.
//! - [`orthonormal`]: orthonormal rows.
//! - [`symmetric`], [`triangle`]: packed matrices of files, and triangles in slices, as whole ones and back.
//! - [`determinant`]: logarithms of determinants. [`inverse`]: inverses that are finite.
//!   [`inverse_factor`]: inverses and determinants of positive definite matrices, by products.
//!   [`conjugate_gradients`]: equations whose solution is nearly known.
//! - [`log_sums`]: sums of probabilities that are given by their logarithms. [`soft_max`]: probabilities from logarithms.
//!
//! Functions return `None` if a matrix is not finite, singular or not positive definite. The caller's error says of
//! which matrix. Matrices are in double precision, vectors are columns.

pub mod conjugate_gradients;
pub mod determinant;
pub mod eigen;
pub mod inverse;
pub mod inverse_factor;
pub mod log_sums;
pub mod orthonormal;
pub mod soft_max;
pub mod svd;
pub mod symmetric;
#[cfg(test)]
mod testing;
pub mod triangle;
