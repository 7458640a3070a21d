//! Products of matrices that lie in slices, row after row.

use std::ops::Range;

use nalgebra::{Const, DMatrix, DMatrixView, DMatrixViewMut, Dyn, U1};

/// A matrix in a slice: its rows follow each other at a distance of `step`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    data: &'a [f64],
    rows: usize,
    cols: usize,
    step: usize,
}

/// A matrix in a slice, or its transpose.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Factor<'a> {
    data: &'a [f64],
    rows: usize,
    cols: usize,
    row_step: usize,
    col_step: usize,
}

type Strided<'a> = DMatrixView<'a, f64, Dyn, Dyn>;

impl<'a> Rows<'a> {
    /// The matrix of so many rows and columns in a slice without gaps.
    pub fn new(data: &'a [f64], rows: usize, cols: usize) -> Rows<'a> {
        Rows { data, rows, cols, step: cols }
    }

    pub fn row(self, i: usize) -> &'a [f64] {
        &self.data[i * self.step..i * self.step + self.cols]
    }

    /// The matrix of some of the columns.
    pub fn columns(self, range: &Range<usize>) -> Rows<'a> {
        let data = if self.rows == 0 { self.data } else { &self.data[range.start..] };
        Rows { data, cols: range.len(), ..self }
    }

    pub fn plain(self) -> Factor<'a> {
        let Rows { data, rows, cols, step } = self;
        Factor { data, rows, cols, row_step: step, col_step: 1 }
    }

    pub fn transposed(self) -> Factor<'a> {
        let Rows { data, rows, cols, step } = self;
        Factor { data, rows: cols, cols: rows, row_step: 1, col_step: step }
    }
}

/// Adds a·b to the matrix in `out`, whose rows follow each other.
pub(crate) fn add_product(out: &mut [f64], a: Factor<'_>, b: Rows<'_>) {
    let (rows, inner, cols) = (a.rows, a.cols, b.cols);
    assert_eq!((inner, out.len()), (b.rows, rows * cols), "sizes of a product");
    if rows == 0 || cols == 0 || inner == 0 {
        return;
    }
    // For nalgebra matrices are columns: outᵀ += bᵀ aᵀ. (With a first factor whose columns have gaps, nalgebra 0.35 writes
    // behind the end of the result if this is small.)
    let first = DMatrixView::<f64, U1, Dyn>::from_slice_with_strides_generic(
        b.data,
        Dyn(cols),
        Dyn(inner),
        Const::<1>,
        Dyn(b.step),
    );
    let second = Strided::from_slice_with_strides(a.data, inner, rows, a.col_step, a.row_step);
    DMatrixViewMut::<f64>::from_slice(out, cols, rows).gemm(1.0, &first, &second, 1.0);
}

/// A matrix of its own with the elements of rows that follow each other.
pub(crate) fn owned(data: &[f64], rows: usize, cols: usize) -> DMatrix<f64> {
    DMatrix::from_row_slice(rows, cols, data)
}

/// Copies a matrix into a slice, row after row.
pub(crate) fn store(from: &DMatrix<f64>, to: &mut [f64]) {
    let rows = to.chunks_exact_mut(from.ncols()).zip(from.row_iter());
    rows.for_each(|(to, from)| to.iter_mut().zip(from.iter()).for_each(|(to, from)| *to = *from));
}

/// Returns Σ aᵢⱼ bᵢⱼ.
pub(crate) fn dot(a: &DMatrix<f64>, b: &DMatrix<f64>) -> f64 {
    a.iter().zip(b.iter()).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_products_of_slices() {
        let at = |m: Factor<'_>, i: usize, j: usize| m.data[i * m.row_step + j * m.col_step];
        let mut random = fastrand::Rng::with_seed(1);
        for (rows, inner, cols) in [(1, 1, 1), (3, 2, 4), (2, 3, 9), (17, 9, 30), (8, 0, 3), (0, 4, 4)] {
            let mut numbers = |count: usize| (0..count).map(|_| random.f64()).collect::<Vec<f64>>();
            let (a, b, start) = (numbers(rows * inner), numbers(inner * cols), numbers(rows * cols));
            let mut a_turned = vec![0.0; a.len()];
            (0..rows * inner).for_each(|i| a_turned[i % inner * rows + i / inner] = a[i]);
            let wide: Vec<f64> = b.chunks(cols).flat_map(|row| [&[9.0], row, &[9.0, 9.0]].concat()).collect();
            let b = Rows::new(&b, inner, cols);
            let gaps = Rows::new(&wide, inner, cols + 3).columns(&(1..cols + 1));
            let (a, a_turned) = (Rows::new(&a, rows, inner), Rows::new(&a_turned, inner, rows));
            for (a, b) in [(a.plain(), b), (a_turned.transposed(), b), (a.plain(), gaps)] {
                let mut found = start.clone();
                add_product(&mut found, a, b);
                for (i, j) in (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))) {
                    let product: f64 = (0..inner).map(|k| at(a, i, k) * at(b.plain(), k, j)).sum();
                    assert!((found[i * cols + j] - start[i * cols + j] - product).abs() < 1e-12);
                }
            }
        }
    }
}
