//! Rows by number, or by place in an arena. Numbers are checked against the matrix; -1 stands for no row. An arena is a
//! 1 × n view, and an offset counts its elements.

use super::elementwise::Elementwise;
use crate::memory::{IndexTable, OffsetTable, RowLists};
use crate::view::{View, ViewMut};

/// Most offsets of [`PickedRows::interleave_rows`].
pub const MOST_INTERLEAVED: usize = 3;

/// Checks the arguments of [`PickedRows::interleave_rows`] and its reverse; `side` is the matrix with the rows of one time.
#[track_caller]
pub(crate) fn check_interleaved(many: &View<'_>, side: &View<'_>, offsets: &[usize]) {
    let count = offsets.len();
    assert!((1..=MOST_INTERLEAVED).contains(&count), "{count} offsets");
    assert_eq!(many.cols(), count * side.cols(), "columns of {count} times");
}

/// Rows are picked by number or place. See the conventions of [`crate::backend`].
pub trait PickedRows: Elementwise {
    /// dst.row(i) = alpha · src.row(rows\[i\]), zero where rows\[i\] is -1.
    fn copy_rows(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, rows: &IndexTable);
    /// dst.row(i) += alpha · src.row(rows\[i\]); -1 skips the row.
    fn add_rows(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, rows: &IndexTable);
    /// dst.row(i) ⊙= src.row(rows\[i\]), zero where -1.
    fn multiply_rows(&self, dst: ViewMut<'_>, src: View<'_>, rows: &IndexTable) {
        assert_eq!(rows.len(), dst.rows(), "indexes for a matrix of {} rows", dst.rows());
        for (i, &row) in rows.values().iter().enumerate() {
            match usize::try_from(row) {
                Ok(row) => self.multiply(dst.row(i), src.row(row)),
                Err(_) => self.set(dst.row(i), 0.0),
            }
        }
    }
    /// dst.row(rows\[i\]) += alpha · src.row(i), in the order of i; -1 skips the row. A row may get several sums.
    fn add_to_picked_rows(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, rows: &IndexTable) {
        assert_eq!(rows.len(), src.rows(), "indexes for a matrix of {} rows", src.rows());
        for (i, &row) in rows.values().iter().enumerate() {
            if let Ok(row) = usize::try_from(row) {
                self.add(dst.row(row), alpha, src.row(i));
            }
        }
    }
    /// dst.row(i) = alpha · arena\[offsets\[i\] .. + cols\], zero where -1. `arena` is a 1 × n view.
    fn copy_rows_multi(&self, dst: ViewMut<'_>, alpha: f32, arena: View<'_>, offsets: &OffsetTable);
    /// dst.row(i) += alpha · arena\[offsets\[i\] .. + cols\]; -1 skips the row.
    fn add_rows_multi(&self, dst: ViewMut<'_>, alpha: f32, arena: View<'_>, offsets: &OffsetTable);
    /// arena\[offsets\[i\] .. + cols\] = src.row(i); -1 skips the row. No offset occurs twice.
    fn copy_to_rows_multi(&self, arena: ViewMut<'_>, src: View<'_>, offsets: &OffsetTable);
    /// arena\[offsets\[i\] .. + cols\] += alpha · src.row(i); -1 skips the row. No offset occurs twice.
    fn add_to_rows_multi(&self, arena: ViewMut<'_>, alpha: f32, src: View<'_>, offsets: &OffsetTable);
    /// dst\[i, K c + k\] = src\[i - offsets\[k\], c\], 0 where src has no such row; K is the number of offsets, one to three, and
    /// `dst` has K times the columns of `src`.
    fn interleave_rows(&self, dst: ViewMut<'_>, src: View<'_>, offsets: &[usize]);
    /// dst\[i, c\] = Σ_k src\[i + offsets\[k\], K c + k\], plus dst\[i, c\] if `adds`; as many offsets as there.
    fn sum_interleaved(&self, dst: ViewMut<'_>, src: View<'_>, offsets: &[usize], adds: bool);
    /// dst.row(i) += alpha · Σ src.row(j), begin ≤ j < end. `ranges` holds begin, end for each i; (-1, -1) skips the
    /// row.
    fn add_row_ranges(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, ranges: &IndexTable);
    /// dst.row(i) = alpha · Σ src.row(j), plus dst.row(i) if `adds`; the sum is over the list of i.
    fn sum_row_lists(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, lists: &RowLists, adds: bool);
}
