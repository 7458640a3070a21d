//! Logarithms of determinants.

use nalgebra::DMatrix;

/// Returns ln |det M| of a square matrix; −∞ if it is singular.
pub fn log_abs_determinant(m: DMatrix<f64>) -> f64 {
    m.lu().u().diagonal().iter().map(|x| x.abs().ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn determinants_of_any_sign() {
        let m = DMatrix::from_row_slice(2, 2, &[1.0, 2.0, 3.0, 1.0]);
        assert!((log_abs_determinant(m) - 5f64.ln()).abs() < 1e-12);
        assert_eq!(log_abs_determinant(DMatrix::zeros(2, 2)), f64::NEG_INFINITY);
        assert_eq!(log_abs_determinant(DMatrix::zeros(0, 0)), 0.0);
    }
}
