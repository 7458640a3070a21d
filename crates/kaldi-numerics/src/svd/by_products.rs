//! Singular value decompositions of any matrices, mostly by products; signs of vectors are those that nalgebra finds.
//!
//! The eigenvectors of A Aᵀ are U. The rows of P = Uᵀ A are those of Vᵀ, each times its singular value. So A = U P to the last digit,
//! and all but the eigenvectors is two products. That is several times as fast as rotations of A itself. The square costs digits: of
//! singular values far below the largest the rows of P are not orthogonal, and are made so one by one.

use nalgebra::{DMatrix, DVector, SymmetricEigen};

/// Singular values below this share of the largest one count as far below it.
const SMALL: f64 = 1e-5;

/// Returns U, the singular values (descending) and Vᵀ: as many columns, values and rows as the smaller side.
/// The matrix is finite.
pub fn sorted_svd(a: &DMatrix<f64>) -> (DMatrix<f64>, Vec<f64>, DMatrix<f64>) {
    if a.nrows() <= a.ncols() {
        let (u, values, v) = of_wide(a);
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
    use crate::testing::random_matrix;

    fn check(a: &DMatrix<f64>, accuracy: f64) {
        let (rows, cols) = a.shape();
        let (u, values, vt) = sorted_svd(a);
        let rank = rows.min(cols);
        assert_eq!((u.shape(), values.len(), vt.shape()), ((rows, rank), rank, (rank, cols)));
        let largest = values[0].max(1e-30);
        let product = &u * DMatrix::from_diagonal(&DVector::from_column_slice(&values)) * &vt;
        assert!((product - a).amax() <= accuracy * largest, "{rows} x {cols}: the product");
        let identity = DMatrix::<f64>::identity(rank, rank);
        assert!((u.tr_mul(&u) - &identity).amax() < 1e-5, "{rows} x {cols}: U");
        assert!((&vt * vt.transpose() - &identity).amax() < 1e-5, "{rows} x {cols}: V");
        for (found, expected) in values.iter().zip(a.singular_values().iter()) {
            assert!((found - expected).abs() <= accuracy * largest, "{found}, expected {expected}");
        }
    }

    #[test]
    fn factors_of_random_matrices() {
        for (rows, cols) in [(1, 1), (1, 5), (5, 1), (7, 7), (20, 33), (60, 31)] {
            check(&random_matrix(rows, cols, 3), 1e-12);
        }
    }

    #[test]
    fn factors_of_singular_matrices() {
        check(&DMatrix::zeros(4, 6), 1e-12);
        let single = |m: DMatrix<f64>| m.map(|x| f64::from(x as f32));
        for (rows, cols) in [(12, 20), (20, 12)] {
            // Rank 3, up to rounding in single precision.
            let (b, c) = (random_matrix(rows, 3, 4), random_matrix(3, cols, 5));
            check(&single(b * c), 1e-7);
            // Some rows are zero.
            let mut zeros = single(random_matrix(rows, cols, 6)) * 10.0;
            zeros.rows_mut(0, 5).fill(0.0);
            check(&zeros, 1e-7);
        }
    }
}
