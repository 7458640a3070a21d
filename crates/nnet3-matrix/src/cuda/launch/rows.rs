//! `rows.cu`.

use super::{BLOCK, GpuBackend, HIGH, WIDE};
use crate::backend::{PickedRows, check_interleaved};
use crate::cuda::engine::Engine;
use crate::cuda::op::{Arg, Launch, Mat};
use crate::memory::{IndexTable, OffsetTable, RowLists};
use crate::view::{View, ViewMut};

impl<E: Engine> GpuBackend<E> {
    /// A kernel with the arguments dst, an optional factor, src and row numbers.
    fn by_rows(
        &self,
        kernel: &'static str,
        dst: ViewMut<'_>,
        alpha: Option<f32>,
        src: View<'_>,
        rows: &IndexTable,
    ) {
        assert_eq!(dst.cols(), src.cols(), "columns of destination and source");
        assert_eq!(rows.len(), dst.rows(), "indexes for a matrix of {} rows", dst.rows());
        if dst.is_empty() {
            return;
        }
        let table = self.indexes(rows, src.rows(), "index");
        let (d, s) = (self.mat(dst.as_view()), self.mat(src));
        let mut args = vec![Arg::Mat(d)];
        args.extend(alpha.map(Arg::Float));
        args.extend([Arg::Mat(s), Arg::Ints(table)]);
        self.fill(kernel, d, &args)
    }

    /// A kernel that takes rows of a matrix to an arena, which is then the first argument, or from an arena, the second.
    fn by_places(
        &self,
        kernel: &'static str,
        [first, second]: [View<'_>; 2],
        alpha: Option<f32>,
        arena_first: bool,
        offsets: &OffsetTable,
    ) {
        let (arena, matrix) = if arena_first { (first, second) } else { (second, first) };
        assert_eq!(arena.rows(), 1, "an arena is one row");
        assert_eq!(offsets.len(), matrix.rows(), "offsets for a matrix of {} rows", matrix.rows());
        if matrix.is_empty() {
            return;
        }
        let table = self.places(offsets, matrix.cols(), arena.cols());
        let shape = self.mat(matrix);
        let mut args = vec![Arg::Mat(self.mat_of_arena(first)), Arg::Mat(self.mat_of_arena(second))];
        args.splice(1..1, alpha.map(Arg::Float));
        args.push(Arg::Longs(table));
        match arena_first {
            true => self.each(kernel, shape, &args),
            false => self.fill(kernel, shape, &args),
        }
    }

    /// As [`GpuBackend::mat`]; an arena may have more elements than a row of a matrix, and kernels use only its address.
    fn mat_of_arena(&self, view: View<'_>) -> Mat {
        match view.rows() == 1 && view.cols() >= 1 << 30 {
            true => Mat::plain(view.pointer.addr() as u64, 1, 1 << 29),
            false => self.mat(view),
        }
    }
}

/// The number of offsets, and three of them.
fn three(offsets: &[usize]) -> [Arg; 4] {
    let number = |n: usize| Arg::Int(i32::try_from(n).expect("an offset below 2^31"));
    let offset = |k: usize| number(offsets.get(k).copied().unwrap_or(0));
    [number(offsets.len()), offset(0), offset(1), offset(2)]
}

impl<E: Engine> PickedRows for GpuBackend<E> {
    fn interleave_rows(&self, dst: ViewMut<'_>, src: View<'_>, offsets: &[usize]) {
        check_interleaved(&dst.as_view(), &src, offsets);
        let (dst, src) = (self.mat(dst.as_view()), self.mat(src));
        self.fill("interleave_rows", dst, &[&[Arg::Mat(dst), Arg::Mat(src)][..], &three(offsets)].concat())
    }
    fn sum_interleaved(&self, dst: ViewMut<'_>, src: View<'_>, offsets: &[usize], adds: bool) {
        check_interleaved(&src, &dst.as_view(), offsets);
        let last = offsets.iter().max().expect("at least one offset");
        assert!(dst.is_empty() || dst.rows() + last <= src.rows(), "rows up to {last} later in {src:?}");
        let (dst, src) = (self.mat(dst.as_view()), self.mat(src));
        let args = [&[Arg::Mat(dst), Arg::Mat(src)][..], &three(offsets), &[Arg::Int(adds as i32)]].concat();
        self.fill("sum_interleaved", dst, &args)
    }
    fn copy_rows(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, rows: &IndexTable) {
        self.by_rows("copy_rows", dst, Some(alpha), src, rows)
    }
    fn add_rows(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, rows: &IndexTable) {
        self.by_rows("add_rows", dst, Some(alpha), src, rows)
    }
    fn multiply_rows(&self, dst: ViewMut<'_>, src: View<'_>, rows: &IndexTable) {
        self.by_rows("multiply_rows", dst, None, src, rows)
    }
    fn copy_rows_multi(&self, dst: ViewMut<'_>, alpha: f32, arena: View<'_>, offsets: &OffsetTable) {
        self.by_places("copy_rows_multi", [dst.as_view(), arena], Some(alpha), false, offsets)
    }
    fn add_rows_multi(&self, dst: ViewMut<'_>, alpha: f32, arena: View<'_>, offsets: &OffsetTable) {
        self.by_places("add_rows_multi", [dst.as_view(), arena], Some(alpha), false, offsets)
    }
    fn copy_to_rows_multi(&self, arena: ViewMut<'_>, src: View<'_>, offsets: &OffsetTable) {
        self.by_places("copy_to_rows_multi", [arena.as_view(), src], None, true, offsets)
    }
    fn add_to_rows_multi(&self, arena: ViewMut<'_>, alpha: f32, src: View<'_>, offsets: &OffsetTable) {
        self.by_places("add_to_rows_multi", [arena.as_view(), src], Some(alpha), true, offsets)
    }
    fn add_row_ranges(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, ranges: &IndexTable) {
        assert_eq!(dst.cols(), src.cols(), "columns of destination and source");
        assert_eq!(ranges.len(), 2 * dst.rows(), "begins and ends for a matrix of {} rows", dst.rows());
        if dst.is_empty() {
            return;
        }
        let table = self.ranges(ranges, src.rows());
        let (d, s) = (self.mat(dst.as_view()), self.mat(src));
        self.each("add_row_ranges", d, &[Arg::Mat(d), Arg::Float(alpha), Arg::Mat(s), Arg::Ints(table)])
    }
    fn sum_row_lists(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, lists: &RowLists, adds: bool) {
        assert_eq!(dst.cols(), src.cols(), "columns of destination and source");
        assert_eq!(lists.len(), dst.rows(), "lists for a matrix of {} rows", dst.rows());
        if dst.is_empty() {
            return;
        }
        let rows = self.indexes(lists.rows(), src.rows(), "index");
        let starts = self.indexes(lists.starts(), lists.rows().len() + 1, "start");
        let (d, s) = (self.mat(dst.as_view()), self.mat(src));
        // Several threads share a list: there may be few rows with long lists.
        let across = d.cols.next_power_of_two().min(32);
        let grid = [d.cols.div_ceil(across).min(WIDE), d.rows.min(HIGH)];
        let tables = [Arg::Ints(starts), Arg::Ints(rows)];
        let args = [Arg::Mat(d), Arg::Float(alpha), Arg::Mat(s), tables[0], tables[1], Arg::Int(adds.into())];
        self.push(Launch::new("sum_row_lists", grid, [across, BLOCK / across], &args))
    }
}
