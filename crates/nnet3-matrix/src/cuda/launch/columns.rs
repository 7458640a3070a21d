//! `columns.cu`.

use super::GpuBackend;
use crate::backend::PickedColumns;
use crate::cuda::engine::Engine;
use crate::cuda::op::Arg;
use crate::memory::IndexTable;
use crate::view::{View, ViewMut};

impl<E: Engine> GpuBackend<E> {
    /// Launches a kernel with a table that gives each column of dst the number of a column of src.
    fn by_cols(&self, kernel: &'static str, dst: ViewMut<'_>, src: View<'_>, cols: &IndexTable) {
        assert_eq!(dst.rows(), src.rows(), "rows of destination and source");
        assert_eq!(cols.len(), dst.cols(), "column numbers for {} columns", dst.cols());
        if dst.is_empty() {
            return;
        }
        let table = self.indexes(cols, src.cols(), "column");
        let (d, s) = (self.mat(dst.as_view()), self.mat(src));
        self.fill(kernel, d, &[Arg::Mat(d), Arg::Mat(s), Arg::Ints(table)])
    }
}

impl<E: Engine> PickedColumns for GpuBackend<E> {
    fn copy_cols(&self, dst: ViewMut<'_>, src: View<'_>, cols: &IndexTable) {
        self.by_cols("copy_cols", dst, src, cols)
    }
    fn add_cols(&self, dst: ViewMut<'_>, src: View<'_>, cols: &IndexTable) {
        self.by_cols("add_cols", dst, src, cols)
    }
    fn add_to_cols(&self, dst: ViewMut<'_>, src: View<'_>, cols: &IndexTable) {
        assert_eq!(dst.rows(), src.rows(), "rows of destination and source");
        assert_eq!(cols.len(), src.cols(), "column numbers for {} columns", src.cols());
        if dst.is_empty() || src.is_empty() {
            return;
        }
        let (starts, sources) = self.sources_of_columns(cols, dst.cols());
        let (d, s) = (self.mat(dst.as_view()), self.mat(src));
        self.each("add_to_cols", d, &[Arg::Mat(d), Arg::Mat(s), Arg::Ints(starts), Arg::Ints(sources)])
    }
    fn sum_col_ranges(&self, dst: ViewMut<'_>, src: View<'_>, ranges: &IndexTable) {
        assert_eq!(dst.rows(), src.rows(), "rows of destination and source");
        assert_eq!(ranges.len(), 2 * dst.cols(), "begins and ends for a matrix of {} columns", dst.cols());
        if dst.is_empty() {
            return;
        }
        let table = self.ranges(ranges, src.cols());
        let (d, s) = (self.mat(dst.as_view()), self.mat(src));
        self.each("sum_col_ranges", d, &[Arg::Mat(d), Arg::Mat(s), Arg::Ints(table)])
    }
}
