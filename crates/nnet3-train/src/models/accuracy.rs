//! Accuracy: how often the largest output coincides with the largest target.

use kaldi_io::{GeneralMatrix, SparseVector};

/// Sums of the weights of frames, a frame's weight being the sum of its targets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Accuracy {
    pub correct: f64,
    pub weight: f64,
    /// The accuracy for the frames with each value of the target; empty if not wanted.
    pub per_dim: Vec<DimAccuracy>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DimAccuracy {
    pub correct: f64,
    pub weight: f64,
}

impl DimAccuracy {
    /// -1 if there were no such frames.
    pub fn average(&self) -> f64 {
        if self.weight == 0.0 { -1.0 } else { self.correct / self.weight }
    }
}

/// Adds the rows of `output` (row-major, in the shape of `targets`).
pub fn accuracy(output: &[f32], targets: &GeneralMatrix, per_dim: bool, sums: &mut Accuracy) {
    let cols = targets.cols();
    if per_dim && sums.per_dim.len() != cols {
        sums.per_dim = vec![DimAccuracy::default(); cols];
    }
    let mut add = |row: usize, best_target: usize, weight: f64| {
        let correct = first_largest(&output[row * cols..(row + 1) * cols]) == best_target;
        let correct = if correct { weight } else { 0.0 };
        sums.weight += weight;
        sums.correct += correct;
        if let Some(dim) = sums.per_dim.get_mut(best_target) {
            dim.weight += weight;
            dim.correct += correct;
        }
    };
    match targets {
        GeneralMatrix::Sparse(m) => {
            for (i, row) in m.rows.iter().enumerate() {
                add(i, best_of_sparse(row), row.pairs.iter().map(|pair| f64::from(pair.1)).sum());
            }
        }
        GeneralMatrix::Full(m) => {
            for i in 0..m.rows {
                add(i, first_largest(m.row(i)), m.row(i).iter().map(|&v| f64::from(v)).sum());
            }
        }
        GeneralMatrix::Compressed(m) => {
            accuracy(output, &GeneralMatrix::Full(m.to_dense()), per_dim, sums);
        }
    }
}

/// Position of the largest element, the first of equal ones.
pub(crate) fn first_largest(values: &[f32]) -> usize {
    let mut best = 0;
    for (i, &value) in values.iter().enumerate() {
        if value > values[best] {
            best = i;
        }
    }
    best
}

/// The column of the largest element of a sparse row; elements that are not stored are zero.
fn best_of_sparse(row: &SparseVector) -> usize {
    let stored = row.pairs.iter().fold(None, |best: Option<(i32, f32)>, &(index, value)| match best {
        Some((_, largest)) if value <= largest => best,
        _ => Some((index, value)),
    });
    match stored {
        Some((index, value)) if value > 0.0 || row.pairs.len() == row.dim => index as usize,
        // The first zero, stored or not.
        _ => (0..row.dim)
            .find(|&i| row.pairs.iter().all(|&(index, value)| index as usize != i || value == 0.0))
            .unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_io::{DenseMatrix, SparseMatrix};

    #[test]
    fn weights_of_correct_frames() {
        let output = [0.1, 0.7, 0.2, 0.5, 0.3, 0.5, -3.0, -2.0, -1.0];
        let dense = DenseMatrix::from_rows(&[[0.0f32, 1.0, 0.0], [0.2, 0.0, 0.3], [0.0, 0.0, 0.5]]);
        let rows = [vec![(1, 1.0)], vec![(0, 0.2), (2, 0.3)], vec![(2, 0.5)]];
        let sparse = SparseMatrix { rows: rows.map(|p| SparseVector::new(3, p).unwrap()).to_vec() };
        let mut sums = [Accuracy::default(), Accuracy::default()];
        accuracy(&output, &dense.into(), true, &mut sums[0]);
        accuracy(&output, &sparse.into(), true, &mut sums[1]);
        for sums in &sums {
            assert!((sums.weight - 2.0).abs() < 1e-6 && (sums.correct - 1.5).abs() < 1e-6, "{sums:?}");
            let per_dim: Vec<f64> = sums.per_dim.iter().map(DimAccuracy::average).collect();
            assert!((per_dim[2] - 0.5).abs() < 1e-6, "{per_dim:?}");
            assert_eq!(per_dim[..2], [-1.0, 1.0]);
        }
    }

    #[test]
    fn what_is_not_stored_is_zero() {
        let row = |pairs: &[(i32, f32)]| SparseVector { dim: 3, pairs: pairs.to_vec() };
        assert_eq!(best_of_sparse(&row(&[(0, -1.0), (2, 0.5)])), 2);
        assert_eq!(best_of_sparse(&row(&[(0, -1.0)])), 1);
        assert_eq!(best_of_sparse(&row(&[])), 0);
        assert_eq!(best_of_sparse(&row(&[(0, -1.0), (1, -0.5), (2, -2.0)])), 1);
    }
}
