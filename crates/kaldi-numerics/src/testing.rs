//! Matrices for tests.

use nalgebra::DMatrix;

/// A matrix of numbers between −1 and 1.
pub(crate) fn random_matrix(rows: usize, cols: usize, seed: u64) -> DMatrix<f64> {
    let mut random = fastrand::Rng::with_seed(seed);
    DMatrix::from_fn(rows, cols, |_, _| 2.0 * random.f64() - 1.0)
}
