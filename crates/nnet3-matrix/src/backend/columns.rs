//! Columns by number. Numbers are checked against the matrix; -1 stands for no column.

use crate::memory::IndexTable;
use crate::view::{View, ViewMut};

/// Columns are picked by number. See the conventions of [`crate::backend`].
pub trait PickedColumns {
    /// dst.col(j) = src.col(cols\[j\]), zero where -1.
    fn copy_cols(&self, dst: ViewMut<'_>, src: View<'_>, cols: &IndexTable);
    /// dst.col(j) += src.col(cols\[j\]); -1 skips the column.
    fn add_cols(&self, dst: ViewMut<'_>, src: View<'_>, cols: &IndexTable);
    /// dst.col(cols\[j\]) += src.col(j); -1 skips the column. Columns may repeat.
    fn add_to_cols(&self, dst: ViewMut<'_>, src: View<'_>, cols: &IndexTable);
    /// dst.col(j) = Σ src.col(k), begin ≤ k < end, where `ranges` holds begin, end for each j.
    fn sum_col_ranges(&self, dst: ViewMut<'_>, src: View<'_>, ranges: &IndexTable);
}
