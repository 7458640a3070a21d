//! Linear and affine transforms of features.

use kaldi_io::DenseMatrix;
use kaldi_numerics::determinant::log_abs_determinant;
use nalgebra::{DMatrix, DMatrixView};

/// Multiplies each frame by `transform`, a matrix of output × input dimensions or, with an offset in its last column,
/// output × (input + 1). Returns `None` if the matrix has neither size.
pub fn apply(features: &DenseMatrix<f32>, transform: &DenseMatrix<f32>) -> Option<DenseMatrix<f32>> {
    let dim = features.cols;
    if transform.cols != dim && transform.cols != dim + 1 {
        return None;
    }
    if features.rows == 0 || transform.rows == 0 {
        return Some(DenseMatrix::default());
    }
    // Rows here are columns for nalgebra, so it sees both matrices transposed.
    let frames = DMatrixView::from_slice(&features.data, dim, features.rows);
    // (A copy in the library's order: its product with a transposed matrix takes three times as long.)
    let linear = DMatrix::from_fn(transform.rows, dim, |row, d| transform.row(row)[d]);
    let mut product = DMatrix::zeros(transform.rows, features.rows);
    product.gemm(1.0, &linear, &frames, 0.0);
    let mut data: Vec<f32> = product.data.into();
    if transform.cols > dim {
        for frame in data.chunks_exact_mut(transform.rows) {
            frame.iter_mut().enumerate().for_each(|(i, x)| *x += transform.row(i)[dim]);
        }
    }
    Some(DenseMatrix { rows: features.rows, cols: transform.rows, data })
}

/// Half the logarithm of the determinant of T Tᵀ, where T is the linear part of the transform. If T is square, this is
/// the logarithm of |T|. Not finite if the transform is singular.
pub fn log_determinant(transform: &DenseMatrix<f32>, input_dim: usize) -> f64 {
    let (rows, cols) = (transform.rows, input_dim);
    let linear = DMatrix::from_fn(rows, cols, |i, j| f64::from(transform.row(i)[j]));
    0.5 * log_abs_determinant(&linear * linear.transpose())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, matrix};

    #[test]
    fn linear_and_affine() {
        let features = matrix(6, 3, 1);
        for cols in [3, 4] {
            let transform = matrix(2, cols, 2);
            let out = apply(&features, &transform).unwrap();
            let mut expected = Vec::new();
            for t in 0..6 {
                for i in 0..2 {
                    let with_one = features.row(t).iter().chain(&[1.0]);
                    let terms = with_one.zip(transform.row(i)).map(|(x, a)| f64::from(*x) * f64::from(*a));
                    expected.push(terms.sum());
                }
            }
            assert_close(&out.data, &expected, 1e-6);
        }
        assert!(apply(&features, &matrix(2, 5, 2)).is_none());
        assert!(apply(&features, &matrix(2, 2, 2)).is_none());
    }

    #[test]
    fn determinants() {
        let square = DenseMatrix::from_rows(&[[2.0f32, 1.0, 9.0], [1.0, -3.0, 9.0]]);
        assert!((log_determinant(&square, 2) - 7f64.ln()).abs() < 1e-9);
        let wide = DenseMatrix::from_rows(&[[3.0f32, 4.0]]);
        assert!((log_determinant(&wide, 2) - 5f64.ln()).abs() < 1e-9);
        assert!(!log_determinant(&DenseMatrix::new(2, 2), 2).is_finite());
    }
}
