//! Columns picked by number.

use super::CpuBackend;
use super::access::{Rows, RowsMut, split};
use super::lanes::total;
use super::rows::{increase, range};
use crate::backend::PickedColumns;
use crate::memory::IndexTable;
use crate::view::{View, ViewMut};
use kaldi_simd::{self as simd, Kernel, Simd};
use std::ops::Range;

/// Rows that are gone through together where columns are handled run by run.
const ROWS_AT_ONCE: usize = 8;

/// Length of the run at the start of `cols`: each number is one more than the one before, or all are -1.
#[inline(always)]
fn run_length(cols: &[i32]) -> usize {
    let step = if cols[0] == -1 { 0 } else { 1 };
    let mut len = 1;
    while len < cols.len() && cols[len] == cols[len - 1] + step {
        len += 1;
    }
    len
}

/// Checks the shapes, and that the table has `positions` column numbers below `limit` or -1. True if its runs are long
/// enough to go through the matrices run by run.
fn check(dst: &View<'_>, positions: usize, src: &View<'_>, limit: usize, cols: &IndexTable) -> bool {
    assert_eq!(dst.rows(), src.rows(), "rows of destination and source");
    assert_eq!(cols.len(), positions, "indexes for a matrix of {positions} columns");
    let cols = cols.values();
    for &col in cols {
        assert!(col >= -1 && (col == -1 || (col as usize) < limit), "column {col} of {limit}");
    }
    let (mut runs, mut start) = (0, 0);
    while start < cols.len() {
        start += run_length(&cols[start..]);
        runs += 1;
    }
    cols.len() >= 6 * runs
}

/// The runs of `cols`, [`ROWS_AT_ONCE`] rows at a time: `f(dst row, src row, positions, first number)`.
#[inline(always)]
fn run_by_run(
    mut dst: RowsMut<'_>,
    src: Rows<'_>,
    cols: &[i32],
    f: impl Fn(&mut [f32], &[f32], Range<usize>, i32),
) {
    for block in (0..dst.rows()).step_by(ROWS_AT_ONCE) {
        let block_end = dst.rows().min(block + ROWS_AT_ONCE);
        let mut start = 0;
        while start < cols.len() {
            let end = start + run_length(&cols[start..]);
            for i in block..block_end {
                f(dst.row(i), src.row(i), start..end, cols[start]);
            }
            start = end;
        }
    }
}

struct SumRanges<'a> {
    dst: RowsMut<'a>,
    src: Rows<'a>,
    ranges: &'a [i32],
}

impl Kernel for SumRanges<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        for i in 0..self.dst.rows() {
            let from = self.src.row(i);
            for (j, d) in self.dst.row(i).iter_mut().enumerate() {
                *d = total::<S, 1>([&from[range(self.ranges, j, from.len())]]) as f32;
            }
        }
    }
}

impl PickedColumns for CpuBackend {
    fn copy_cols(&self, dst: ViewMut<'_>, src: View<'_>, cols: &IndexTable) {
        let by_runs = check(&dst.as_view(), dst.cols(), &src, src.cols(), cols);
        let cols = cols.values();
        simd::run_plain(
            split(dst, [src]),
            #[inline(always)]
            |(mut dst, [src])| {
                if by_runs {
                    return run_by_run(
                        dst,
                        src,
                        cols,
                        #[inline(always)]
                        |to, from, at, first| match usize::try_from(first) {
                            Ok(first) => to[at.clone()].copy_from_slice(&from[first..first + at.len()]),
                            Err(_) => to[at].fill(0.0),
                        },
                    );
                }
                for i in 0..dst.rows() {
                    let from = src.row(i);
                    for (d, &col) in dst.row(i).iter_mut().zip(cols) {
                        // -1 is beyond any row's end.
                        *d = from.get(col as usize).copied().unwrap_or(0.0);
                    }
                }
            },
        )
    }
    fn add_cols(&self, dst: ViewMut<'_>, src: View<'_>, cols: &IndexTable) {
        let by_runs = check(&dst.as_view(), dst.cols(), &src, src.cols(), cols);
        let cols = cols.values();
        simd::run_plain(
            split(dst, [src]),
            #[inline(always)]
            |(mut dst, [src])| {
                if by_runs {
                    return run_by_run(
                        dst,
                        src,
                        cols,
                        #[inline(always)]
                        |to, from, at, first| {
                            if let Ok(first) = usize::try_from(first) {
                                increase(&mut to[at.clone()], 1.0, &from[first..first + at.len()]);
                            }
                        },
                    );
                }
                for i in 0..dst.rows() {
                    let from = src.row(i);
                    for (d, &col) in dst.row(i).iter_mut().zip(cols) {
                        *d += from.get(col as usize).copied().unwrap_or(0.0);
                    }
                }
            },
        )
    }
    fn add_to_cols(&self, dst: ViewMut<'_>, src: View<'_>, cols: &IndexTable) {
        let by_runs = check(&dst.as_view(), src.cols(), &src, dst.cols(), cols);
        let cols = cols.values();
        simd::run_plain(
            split(dst, [src]),
            #[inline(always)]
            |(mut dst, [src])| {
                if by_runs {
                    return run_by_run(
                        dst,
                        src,
                        cols,
                        #[inline(always)]
                        |to, from, at, first| {
                            if let Ok(first) = usize::try_from(first) {
                                increase(&mut to[first..first + at.len()], 1.0, &from[at]);
                            }
                        },
                    );
                }
                for i in 0..dst.rows() {
                    let to = dst.row(i);
                    for (s, &col) in src.row(i).iter().zip(cols) {
                        if let Some(d) = to.get_mut(col as usize) {
                            *d += s;
                        }
                    }
                }
            },
        )
    }
    fn sum_col_ranges(&self, dst: ViewMut<'_>, src: View<'_>, ranges: &IndexTable) {
        assert_eq!(dst.rows(), src.rows(), "rows of destination and source");
        assert_eq!(ranges.len(), 2 * dst.cols(), "begins and ends for a matrix of {} columns", dst.cols());
        let (dst, [src]) = split(dst, [src]);
        simd::run(SumRanges { dst, src, ranges: ranges.values() })
    }
}
