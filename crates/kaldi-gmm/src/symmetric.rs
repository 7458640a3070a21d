//! Symmetric matrices in double precision: covariances, their inverses, and limits of their eigenvalues.

use kaldi_io::{Real, SymmetricMatrix};
use nalgebra::{Cholesky, DMatrix, Dyn, SymmetricEigen};

use crate::error::{Error, Result};

/// Iterations of the eigenvalue solver, for each dimension, before it counts as failed.
const ITERATIONS: usize = 1000;

/// Returns the full matrix of a packed one.
pub(crate) fn dense<T: Real>(packed: &SymmetricMatrix<T>) -> DMatrix<f64> {
    DMatrix::from_fn(packed.dim, packed.dim, |i, j| packed.get(i, j).to_f64())
}

/// Returns the lower triangle.
pub(crate) fn packed<T: Real>(m: &DMatrix<f64>) -> SymmetricMatrix<T> {
    let data = (0..m.nrows()).flat_map(|i| (0..=i).map(move |j| T::from_f64(m[(i, j)]))).collect();
    SymmetricMatrix { dim: m.nrows(), data }
}

/// Returns the Cholesky factor. The error says that `what` is not positive definite.
pub(crate) fn cholesky(m: DMatrix<f64>, what: &str) -> Result<Cholesky<f64, Dyn>> {
    Cholesky::new(m).ok_or_else(|| Error::data(format!("the {what} is not positive definite")))
}

/// Returns the natural logarithm of the determinant.
pub(crate) fn log_determinant(factor: &Cholesky<f64, Dyn>) -> f64 {
    2.0 * factor.l_dirty().diagonal().iter().map(|x| x.ln()).sum::<f64>()
}

/// Raises the eigenvalues of a covariance to the larger one of `least` and their largest magnitude over
/// `max_condition`, in single precision. Returns the number of those that were below. An error if the covariance is not finite.
pub(crate) fn floor_eigenvalues(m: &mut DMatrix<f64>, least: f64, max_condition: f64) -> Result<usize> {
    let failed =
        || Error::data("the eigenvalues of a covariance cannot be computed: are there infinite statistics?");
    if !m.iter().all(|x| x.is_finite()) {
        return Err(failed());
    }
    let eigen = SymmetricEigen::try_new(m.clone(), f64::EPSILON, ITERATIONS * m.nrows());
    let mut eigen = eigen.ok_or_else(failed)?;
    let floor = f64::from(least.max(eigen.eigenvalues.amax() / max_condition) as f32);
    let mut floored = 0;
    for value in eigen.eigenvalues.iter_mut().filter(|value| **value < floor) {
        *value = floor;
        floored += 1;
    }
    if floored > 0 {
        *m = eigen.recompose();
    }
    Ok(floored)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvalues_are_raised() {
        // Eigenvalues 3 and 1 along (1, 1) and (1, −1).
        let m = DMatrix::from_row_slice(2, 2, &[2.0, 1.0, 1.0, 2.0]);
        let mut raised = m.clone();
        assert_eq!(floor_eigenvalues(&mut raised, 2.0, 1e4).unwrap(), 1);
        assert!((raised - DMatrix::from_row_slice(2, 2, &[2.5, 0.5, 0.5, 2.5])).amax() < 1e-12);
        let mut raised = m.clone();
        assert_eq!(floor_eigenvalues(&mut raised, 0.5, 2.0).unwrap(), 1);
        assert!((raised - DMatrix::from_row_slice(2, 2, &[2.25, 0.75, 0.75, 2.25])).amax() < 1e-7);
        let mut same = m.clone();
        assert_eq!(floor_eigenvalues(&mut same, 0.5, 1e4).unwrap(), 0);
        assert_eq!(same, m);
        assert!(floor_eigenvalues(&mut DMatrix::from_element(2, 2, f64::NAN), 0.1, 1e4).is_err());
    }

    #[test]
    fn determinants_and_triangles() {
        let m = DMatrix::from_row_slice(2, 2, &[2.0, 1.0, 1.0, 2.0]);
        let triangle: SymmetricMatrix<f32> = packed(&m);
        assert_eq!((triangle.data.clone(), dense(&triangle)), (vec![2.0, 1.0, 2.0], m.clone()));
        assert!((log_determinant(&cholesky(m, "sample").unwrap()) - 3f64.ln()).abs() < 1e-12);
        let error = cholesky(DMatrix::zeros(2, 2), "sample").unwrap_err().to_string();
        assert!(error.contains("the sample is not positive definite"), "{error}");
    }
}
