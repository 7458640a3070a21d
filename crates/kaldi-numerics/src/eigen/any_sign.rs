//! Eigenvalues and eigenvectors of symmetric matrices where the signs of vectors cancel, by nalgebra.

use nalgebra::{DMatrix, DVector, Dyn, SymmetricEigen};

use crate::symmetric::symmetric_part;

/// Iterations of the solver, for each dimension, before it counts as failed.
const ITERATIONS: usize = 1000;

/// Decomposes a symmetric matrix, of which only the lower triangle is read. Eigenvalues are not sorted. Returns `None` if
/// the matrix is not finite or the solver fails.
pub fn symmetric_eigen(matrix: &DMatrix<f64>) -> Option<SymmetricEigen<f64, Dyn>> {
    if matrix.iter().any(|x| !x.is_finite()) {
        return None;
    }
    SymmetricEigen::try_new(matrix.clone(), f64::EPSILON, ITERATIONS * matrix.nrows())
}

/// Decomposes the symmetric part of a matrix. Returns eigenvalues in decreasing order, and the eigenvectors as rows in the
/// same order; `None` if the matrix is not finite or the solver fails.
pub fn descending(matrix: &DMatrix<f64>) -> Option<(DVector<f64>, DMatrix<f64>)> {
    let dim = matrix.nrows();
    let eigen = symmetric_eigen(&symmetric_part(matrix))?;
    let mut order: Vec<usize> = (0..dim).collect();
    order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
    let values = DVector::from_iterator(dim, order.iter().map(|&i| eigen.eigenvalues[i]));
    let rows = DMatrix::from_fn(dim, dim, |i, j| eigen.eigenvectors[(j, order[i])]);
    Some((values, rows))
}

/// Raises the eigenvalues of a covariance to the larger one of `least` and their largest magnitude over `max_condition`,
/// in single precision. Returns the number of those that were below; `None` if the covariance is not finite or the solver
/// fails.
pub fn floor_eigenvalues(m: &mut DMatrix<f64>, least: f64, max_condition: f64) -> Option<usize> {
    let mut eigen = symmetric_eigen(m)?;
    let floor = f64::from(least.max(eigen.eigenvalues.amax() / max_condition) as f32);
    let mut floored = 0;
    for value in eigen.eigenvalues.iter_mut().filter(|value| **value < floor) {
        *value = floor;
        floored += 1;
    }
    if floored > 0 {
        *m = eigen.recompose();
    }
    Some(floored)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvalues_decrease_and_rows_are_eigenvectors() {
        let m = DMatrix::from_row_slice(3, 3, &[2.0, 1.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 5.0]);
        let (values, rows) = descending(&m).unwrap();
        assert!((values - DVector::from_vec(vec![5.0, 3.0, 1.0])).amax() < 1e-12);
        assert!((rows[(1, 0)] - rows[(1, 1)]).abs() < 1e-12);
        assert!((&rows * &m * rows.transpose())[(1, 2)].abs() < 1e-12);
        assert!(descending(&DMatrix::from_element(2, 2, f64::NAN)).is_none());
        assert!(symmetric_eigen(&DMatrix::from_element(2, 2, f64::INFINITY)).is_none());
    }

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
        assert!(floor_eigenvalues(&mut DMatrix::from_element(2, 2, f64::NAN), 0.1, 1e4).is_none());
    }
}
