//! Singular values alone.

use nalgebra::DMatrix;

/// Steps of the solver before it counts as failed.
const MOST_STEPS: usize = 10_000;

/// Returns singular values in decreasing order; `None` of an empty matrix and of one that is not finite, for which no
/// method ends.
pub fn singular_values(matrix: DMatrix<f64>) -> Option<Vec<f64>> {
    if matrix.is_empty() || matrix.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let svd = matrix.try_svd(false, false, 5.0 * f64::EPSILON, MOST_STEPS)?;
    let mut values = svd.singular_values.as_slice().to_vec();
    values.sort_by(|a, b| b.total_cmp(a));
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_rectangle() {
        let m = DMatrix::from_row_slice(2, 3, &[0.0, 2.0, 0.0, 3.0, 0.0, 4.0]);
        let values = singular_values(m).unwrap();
        assert!((values[0] - 5.0).abs() < 1e-12 && (values[1] - 2.0).abs() < 1e-12, "{values:?}");
        assert_eq!(singular_values(DMatrix::from_element(2, 2, f64::NAN)), None);
        assert_eq!(singular_values(DMatrix::zeros(0, 3)), None);
    }
}
