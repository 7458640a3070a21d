//! Singular value decompositions of parameters.
//!
//! The eigenvectors of A Aᵀ are U. The rows of P = Uᵀ A are those of Vᵀ, each times its singular value. So A = U P to the last digit,
//! and all but the eigenvectors is two products. That is several times as fast as rotations of A itself. The square costs digits: of
//! singular values far below the largest the rows of P are not orthogonal, and are made so one by one.

use nalgebra::{DMatrix, DVector, SymmetricEigen};
use nnet3_matrix::Matrix;

/// Singular values below this share of the largest one count as far below it.
const SMALL: f64 = 1e-5;

/// Returns U, the singular values (descending) and Vᵀ: as many columns, values and rows as the smaller side.
pub(super) fn sorted_svd(matrix: &Matrix) -> (DMatrix<f64>, Vec<f64>, DMatrix<f64>) {
    let data: Vec<f64> = matrix.to_vec().into_iter().map(f64::from).collect();
    let a = DMatrix::from_row_slice(matrix.rows(), matrix.cols(), &data);
    if a.nrows() <= a.ncols() {
        let (u, values, v) = of_wide(&a);
        return (u, values, v.transpose());
    }
    let (v, values, u) = of_wide(&a.transpose());
    (u, values, v.transpose())
}

/// Returns U, the singular values and V of a matrix with at least as many columns as rows.
fn of_wide(a: &DMatrix<f64>) -> (DMatrix<f64>, Vec<f64>, DMatrix<f64>) {
    let u = SymmetricEigen::new(a * a.transpose()).eigenvectors;
    let p = a.tr_mul(&u);
    let lengths: Vec<f64> = p.column_iter().map(|column| column.norm()).collect();
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by(|&i, &j| lengths[j].total_cmp(&lengths[i]));
    let values: Vec<f64> = order.iter().map(|&i| lengths[i]).collect();
    let mut v = p.select_columns(&order);
    let smallest = SMALL * values.first().unwrap_or(&0.0);
    for (i, &value) in values.iter().enumerate() {
        match value > smallest {
            true => v.column_mut(i).unscale_mut(value),
            false => make_orthogonal(&mut v, i),
        }
    }
    (u.select_columns(&order), values, v)
}

/// Makes column i orthogonal to those before it, and of length 1. If nothing is left of it, another direction takes its place.
fn make_orthogonal(v: &mut DMatrix<f64>, i: usize) {
    let before = v.columns(0, i).into_owned();
    let rest = |x: DVector<f64>| &x - &before * before.tr_mul(&x);
    let own = v.column(i).into_owned();
    let own = rest(&own / own.norm().max(f64::MIN_POSITIVE));
    let x = if own.norm() > 1e-3 {
        own
    } else {
        let taken = |k: usize| before.row(k).norm_squared();
        let k = (0..v.nrows()).min_by(|&j, &k| taken(j).total_cmp(&taken(k))).unwrap_or(0);
        rest(DVector::from_fn(v.nrows(), |j, _| if j == k { 1.0 } else { 0.0 }))
    };
    let x = rest(x.normalize());
    v.set_column(i, &x.normalize());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    fn check(matrix: &Matrix, accuracy: f64) {
        let (rows, cols) = (matrix.rows(), matrix.cols());
        let a = DMatrix::from_row_iterator(rows, cols, matrix.to_vec().into_iter().map(f64::from));
        let (u, values, vt) = sorted_svd(matrix);
        let rank = rows.min(cols);
        assert_eq!((u.shape(), values.len(), vt.shape()), ((rows, rank), rank, (rank, cols)));
        let largest = values[0].max(1e-30);
        let product = &u * DMatrix::from_diagonal(&DVector::from_column_slice(&values)) * &vt;
        assert!((product - &a).amax() <= accuracy * largest, "{rows} x {cols}: the product");
        let identity = DMatrix::<f64>::identity(rank, rank);
        assert!((u.tr_mul(&u) - &identity).amax() < 1e-5, "{rows} x {cols}: U");
        assert!((&vt * vt.transpose() - &identity).amax() < 1e-5, "{rows} x {cols}: V");
        for (found, expected) in values.iter().zip(a.singular_values().iter()) {
            assert!((found - expected).abs() <= accuracy * largest, "{found}, expected {expected}");
        }
    }

    #[test]
    fn factors_of_random_matrices() {
        let random = Random::new(3);
        for (rows, cols) in [(1, 1), (1, 5), (5, 1), (7, 7), (20, 33), (60, 31)] {
            check(&Matrix::from_vec(rows, cols, random.normal_vec(rows * cols, 0.0, 1.0)), 1e-12);
        }
    }

    #[test]
    fn factors_of_singular_matrices() {
        let random = Random::new(4);
        check(&Matrix::from_vec(4, 6, vec![0.0; 24]), 1e-12);
        for (rows, cols) in [(12, 20), (20, 12)] {
            // Rank 3, up to rounding in single precision.
            let (b, c) = (random.normal_vec(rows * 3, 0.0, 1.0), random.normal_vec(3 * cols, 0.0, 1.0));
            let product = DMatrix::from_row_slice(rows, 3, &b) * DMatrix::from_row_slice(3, cols, &c);
            check(&Matrix::from_vec(rows, cols, product.transpose().iter().copied().collect()), 1e-7);
            // Some rows are zero.
            let zeros = (0..rows * cols).map(|k| if k < cols * 5 { 0.0 } else { b[k % b.len()] + k as f32 });
            check(&Matrix::from_vec(rows, cols, zeros.collect()), 1e-7);
        }
    }
}
