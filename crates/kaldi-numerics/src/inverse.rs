//! Inverses of square matrices.

use nalgebra::DMatrix;

/// Returns the inverse; `None` if the matrix is singular, or so nearly that the inverse is not finite.
pub fn finite_inverse(m: DMatrix<f64>) -> Option<DMatrix<f64>> {
    m.try_inverse().filter(|inverse| inverse.iter().all(|x| x.is_finite()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn singular_matrices_have_none() {
        let m = DMatrix::from_row_slice(2, 2, &[2.0, 1.0, 1.0, 1.0]);
        let inverse = finite_inverse(m).unwrap();
        assert!((inverse - DMatrix::from_row_slice(2, 2, &[1.0, -1.0, -1.0, 2.0])).amax() < 1e-12);
        for x in [0.0, 1.0, f64::NAN, f64::MIN_POSITIVE * f64::EPSILON] {
            assert_eq!(finite_inverse(DMatrix::from_element(2, 2, x)), None);
        }
        assert_eq!(finite_inverse(DMatrix::from_element(1, 1, f64::MIN_POSITIVE * f64::EPSILON)), None);
    }
}
