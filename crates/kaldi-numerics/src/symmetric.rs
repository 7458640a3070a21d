//! Symmetric matrices: whole ones, and the packed lower triangles of files.

use kaldi_io::{PackedMatrix, Real, SymmetricMatrix};
use nalgebra::DMatrix;

/// Returns the whole matrix of a packed one.
pub fn dense<T: Real>(packed: &SymmetricMatrix<T>) -> DMatrix<f64> {
    DMatrix::from_fn(packed.dim, packed.dim, |i, j| packed.get(i, j).to_f64())
}

/// Returns the lower triangle of a square matrix, which may be triangular or symmetric.
pub fn packed<T: Real>(m: &DMatrix<f64>) -> PackedMatrix<T> {
    let data = (0..m.nrows()).flat_map(|i| (0..=i).map(move |j| T::from_f64(m[(i, j)]))).collect();
    PackedMatrix { dim: m.nrows(), data }
}

/// Returns ½ (M + Mᵀ) of a square matrix.
pub fn symmetric_part(m: &DMatrix<f64>) -> DMatrix<f64> {
    (m + m.transpose()) * 0.5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triangles_there_and_back() {
        let m = DMatrix::from_row_slice(2, 2, &[2.0, 1.0, 1.0, 3.0]);
        let triangle: SymmetricMatrix<f32> = packed(&m);
        assert_eq!((triangle.data.clone(), dense(&triangle)), (vec![2.0, 1.0, 3.0], m.clone()));
        let uneven = DMatrix::from_row_slice(2, 2, &[2.0, 0.5, 1.5, 3.0]);
        assert_eq!(symmetric_part(&uneven), m);
    }
}
