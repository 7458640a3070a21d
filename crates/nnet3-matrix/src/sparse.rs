//! Products with rows that are mostly zeros.

use crate::view::{View, ViewMut};

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
    /// No rows, of so many columns.
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

    /// All elements, row by row.
    pub fn to_dense(&self) -> Vec<f32> {
        let mut out = vec![0.0; self.rows() * self.cols];
        for (row, elements) in out.chunks_exact_mut(self.cols.max(1)).zip(self.iter()) {
            elements.iter().for_each(|&(col, value)| row[col] += value);
        }
        out
    }
}

/// What a device that multiplies sparse rows can do.
pub trait SparseProducts {
    /// dst += X · matrixᵀ; X, N × I, are the rows of `x` from the `first` one on, `matrix` is O × I, `dst` N × O.
    fn add_product(&self, dst: ViewMut<'_>, x: &SparseRows, first: usize, matrix: View<'_>);
    /// dst += `alpha` · derivsᵀ · X; X, N × I, are the rows of `x` from the `first` one on, `derivs` is N × O, `dst` O × I.
    fn add_gradient(&self, dst: ViewMut<'_>, alpha: f32, derivs: View<'_>, x: &SparseRows, first: usize);
}
