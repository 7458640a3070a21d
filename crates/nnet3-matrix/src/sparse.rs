//! Products with rows that are mostly zeros.

use crate::view::{View, ViewMut};
use std::collections::BTreeMap;
use std::ops::Range;

/// The rows of a matrix, by their elements that are not zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseRows {
    cols: usize,
    /// For each row the end of its elements.
    ends: Vec<usize>,
    /// Columns and values.
    elements: Vec<(usize, f32)>,
}

impl SparseRows {
    /// Makes rows of `cols` columns, at first none.
    pub fn new(cols: usize) -> SparseRows {
        SparseRows { cols, ..SparseRows::default() }
    }

    /// Adds a row with these columns and values. Several values of a column are added up.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn push(&mut self, elements: impl IntoIterator<Item = (usize, f32)>) {
        let (first, cols) = (self.elements.len(), self.cols);
        self.elements.extend(elements);
        let known = self.elements[first..].iter().all(|&(col, _)| col < cols);
        assert!(known, "an element beyond {cols} columns");
        self.ends.push(self.elements.len());
    }

    pub fn rows(&self) -> usize {
        self.ends.len()
    }
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Columns and values of each row.
    pub fn iter(&self) -> impl Iterator<Item = &[(usize, f32)]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(&start, &end)| &self.elements[start..end])
    }

    /// The sum of squares of the column values in some rows; repeated columns of a row are added up first.
    pub fn sum_of_squares(&self, rows: Range<usize>) -> f64 {
        let of_row = |row: &[(usize, f32)]| -> f64 {
            let square = |&(_, value): &(usize, f32)| f64::from(value) * f64::from(value);
            if row.is_sorted_by(|a, b| a.0 < b.0) {
                return row.iter().map(square).sum();
            }
            let mut sums = BTreeMap::new();
            row.iter().for_each(|&(col, value)| *sums.entry(col).or_insert(0f32) += value);
            sums.into_iter().map(|sum| square(&sum)).sum()
        };
        self.iter().skip(rows.start).take(rows.len()).map(of_row).sum()
    }

    /// All elements of some rows, row by row.
    pub fn to_dense(&self, rows: Range<usize>) -> Vec<f32> {
        let mut out = vec![0.0; rows.len() * self.cols];
        let wanted = self.iter().skip(rows.start);
        for (row, elements) in out.chunks_exact_mut(self.cols.max(1)).zip(wanted) {
            elements.iter().for_each(|&(col, value)| row[col] += value);
        }
        out
    }
}

/// Operations of a device that multiplies sparse rows.
pub trait SparseProducts {
    /// dst += X · matrixᵀ; X, N × I, are the rows of `x` from the `first` one on, `matrix` is O × I, `dst` N × O.
    fn add_product(&self, dst: ViewMut<'_>, x: &SparseRows, first: usize, matrix: View<'_>);
    /// dst += `alpha` · derivsᵀ · X; X, N × I, are the rows of `x` from the `first` one on, `derivs` is N × O, `dst` O × I.
    fn add_gradient(&self, dst: ViewMut<'_>, alpha: f32, derivs: View<'_>, x: &SparseRows, first: usize);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_are_those_of_dense_rows() {
        let mut x = SparseRows::new(6);
        for row in [&[(1, 2.0)][..], &[(5, 1.5), (0, -1.0), (5, -0.5)], &[], &[(0, 1.0), (4, 3.0)]] {
            x.push(row.iter().copied());
        }
        assert_eq!(x.to_dense(1..3), [&[-1.0, 0.0, 0.0, 0.0, 0.0, 1.0][..], &[0.0; 6]].concat());
        for rows in [0..4, 1..2, 2..3, 1..4, 2..2] {
            let squares: f64 = x.to_dense(rows.clone()).iter().map(|&x| f64::from(x) * f64::from(x)).sum();
            assert_eq!(x.sum_of_squares(rows), squares);
        }
    }
}
