//! Symmetric matrices as their lower triangles, row after row, in slices of larger sums.

use nalgebra::DMatrix;

/// Number of elements of the triangle of a dim × dim matrix.
pub const fn len(dim: usize) -> usize {
    dim * (dim + 1) / 2
}

/// The rows of a triangle: row i has i + 1 elements.
fn rows(dim: usize) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> {
    (0..dim).map(|i| (i, len(i)..len(i + 1)))
}

/// Returns the whole matrix of a triangle.
pub fn unpack(packed: &[f64], dim: usize) -> DMatrix<f64> {
    let mut out = DMatrix::zeros(dim, dim);
    for (i, row) in rows(dim) {
        // Column i above the diagonal is contiguous.
        out.column_mut(i).as_mut_slice()[..=i].copy_from_slice(&packed[row]);
    }
    out.fill_lower_triangle_with_upper_triangle();
    out
}

/// Copies the triangle of a symmetric matrix, of which only the upper half is read.
pub fn pack(matrix: &DMatrix<f64>, to: &mut [f64]) {
    for (i, row) in rows(matrix.nrows()) {
        to[row].copy_from_slice(&matrix.column(i).as_slice()[..=i]);
    }
}

/// Adds the triangle of a symmetric matrix, of which only the upper half is read.
pub fn add(matrix: &DMatrix<f64>, to: &mut [f64]) {
    for (i, row) in rows(matrix.nrows()) {
        to[row].iter_mut().zip(matrix.column(i).iter()).for_each(|(to, x)| *to += x);
    }
}

/// Returns tr(A B) of two triangles.
pub fn trace_of_product(a: &[f64], b: &[f64], dim: usize) -> f64 {
    rows(dim)
        .map(|(i, row)| {
            let (a, b) = (&a[row.clone()], &b[row]);
            2.0 * a[..i].iter().zip(b).map(|(a, b)| a * b).sum::<f64>() + a[i] * b[i]
        })
        .sum()
}

/// Returns tr(A) of a triangle.
pub fn trace(a: &[f64], dim: usize) -> f64 {
    (0..dim).map(|i| a[len(i) + i]).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let mut random = fastrand::Rng::with_seed(2);
        for dim in [1, 2, 7] {
            let mut numbers = || (0..len(dim)).map(|_| random.f64()).collect::<Vec<f64>>();
            let (a, b) = (numbers(), numbers());
            let (full_a, full_b) = (unpack(&a, dim), unpack(&b, dim));
            assert_eq!(full_a, full_a.transpose());
            assert_eq!(full_a[(dim - 1, 0)], a[len(dim - 1)]);
            let mut again = vec![0.0; a.len()];
            pack(&full_a, &mut again);
            assert_eq!(again, a);
            add(&full_b, &mut again);
            assert!(again.iter().zip(&a).zip(&b).all(|((sum, a), b)| *sum == a + b));
            assert!((trace_of_product(&a, &b, dim) - (&full_a * &full_b).trace()).abs() < 1e-12);
            assert!((trace(&a, dim) - full_a.trace()).abs() < 1e-12);
        }
    }
}
