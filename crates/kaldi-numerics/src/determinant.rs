//! Logarithms of determinants.

use nalgebra::{Cholesky, DMatrix, Dyn};

/// Returns ln |det M| of a square matrix; −∞ if it is singular.
pub fn log_abs_determinant(m: DMatrix<f64>) -> f64 {
    m.lu().u().diagonal().iter().map(|x| x.abs().ln()).sum()
}

/// Returns ln det A of a positive definite matrix from its Cholesky factor.
pub fn log_determinant(factor: &Cholesky<f64, Dyn>) -> f64 {
    2.0 * factor.l_dirty().diagonal().iter().map(|x| x.ln()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn determinants_from_factors() {
        let m = DMatrix::from_row_slice(2, 2, &[2.0, 1.0, 1.0, 2.0]);
        assert!((log_determinant(&Cholesky::new(m).unwrap()) - 3f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn determinants_of_any_sign() {
        let m = DMatrix::from_row_slice(2, 2, &[1.0, 2.0, 3.0, 1.0]);
        assert!((log_abs_determinant(m) - 5f64.ln()).abs() < 1e-12);
        assert_eq!(log_abs_determinant(DMatrix::zeros(2, 2)), f64::NEG_INFINITY);
        assert_eq!(log_abs_determinant(DMatrix::zeros(0, 0)), 0.0);
    }
}
