//! Rows picked by number or by place.

use super::CpuBackend;
use super::access::{Rows, RowsMut, gather, scatter, split};
use super::nontemporal::{CopyRows, is_large};
use crate::backend::{PickedRows, check_interleaved};
use crate::memory::{IndexTable, OffsetTable, RowLists};
use crate::view::{View, ViewMut};
use kaldi_simd as simd;

/// to = alpha · from.
#[inline(always)]
fn put(to: &mut [f32], alpha: f32, from: &[f32]) {
    if alpha == 1.0 {
        to.copy_from_slice(from);
    } else {
        for (to, from) in to.iter_mut().zip(from) {
            *to = alpha * from;
        }
    }
}

/// to += alpha · from.
#[inline(always)]
pub(super) fn increase(to: &mut [f32], alpha: f32, from: &[f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += alpha * from;
    }
}

/// Number `index` of `limit`, or `None` for -1.
#[inline(always)]
pub(super) fn chosen(index: i32, limit: usize) -> Option<usize> {
    if index == -1 {
        return None;
    }
    let chosen = index as usize;
    assert!(index >= 0 && chosen < limit, "index {index} of {limit}");
    Some(chosen)
}

fn indexed<'a>(dst: ViewMut<'a>, src: View<'a>, rows: &IndexTable) -> (RowsMut<'a>, Rows<'a>) {
    assert_eq!(dst.cols(), src.cols(), "columns of destination and source");
    assert_eq!(rows.len(), dst.rows(), "indexes for a matrix of {} rows", dst.rows());
    let (dst, [src]) = split(dst, [src]);
    (dst, src)
}

/// Range number `i` of a table of begins and ends, checked against `limit`; empty for -1, -1.
#[inline(always)]
pub(super) fn range(ranges: &[i32], i: usize, limit: usize) -> std::ops::Range<usize> {
    let (begin, end) = (ranges[2 * i], ranges[2 * i + 1]);
    if begin == -1 && end == -1 {
        return 0..0;
    }
    assert!(0 <= begin && begin <= end && end as usize <= limit, "range {begin}..{end} of {limit}");
    begin as usize..end as usize
}

impl PickedRows for CpuBackend {
    fn interleave_rows(&self, dst: ViewMut<'_>, src: View<'_>, offsets: &[usize]) {
        check_interleaved(&dst.as_view(), &src, offsets);
        let (rows, (mut dst, [src])) = (dst.rows(), split(dst, [src]));
        for i in 0..rows {
            let from = |k: usize| i.checked_sub(offsets[k]).filter(|&row| row < src.rows());
            for (at, to) in dst.row(i).iter_mut().enumerate() {
                let (c, k) = (at / offsets.len(), at % offsets.len());
                *to = from(k).map_or(0.0, |row| src.row(row)[c]);
            }
        }
    }
    fn sum_interleaved(&self, dst: ViewMut<'_>, src: View<'_>, offsets: &[usize], adds: bool) {
        check_interleaved(&src, &dst.as_view(), offsets);
        let (rows, (mut dst, [src])) = (dst.rows(), split(dst, [src]));
        for i in 0..rows {
            for (c, to) in dst.row(i).iter_mut().enumerate() {
                let terms = offsets.iter().enumerate();
                let sum: f32 = terms.map(|(k, offset)| src.row(i + offset)[offsets.len() * c + k]).sum();
                *to = if adds { *to + sum } else { sum };
            }
        }
    }
    fn copy_rows(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, rows: &IndexTable) {
        let (dst, src) = indexed(dst, src, rows);
        if alpha == 1.0 && is_large(&dst) {
            let (rows, limit) = (rows.values(), src.rows());
            return simd::run(CopyRows { dst, src, from: |i: usize| chosen(rows[i], limit) });
        }
        simd::run_plain(
            (dst, src),
            #[inline(always)]
            |(mut dst, src)| {
                for (i, &row) in rows.values().iter().enumerate() {
                    match chosen(row, src.rows()) {
                        Some(row) => put(dst.row(i), alpha, src.row(row)),
                        None => dst.row(i).fill(0.0),
                    }
                }
            },
        )
    }
    fn add_rows(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, rows: &IndexTable) {
        simd::run_plain(
            indexed(dst, src, rows),
            #[inline(always)]
            |(mut dst, src)| {
                for (i, &row) in rows.values().iter().enumerate() {
                    if let Some(row) = chosen(row, src.rows()) {
                        increase(dst.row(i), alpha, src.row(row));
                    }
                }
            },
        )
    }
    fn multiply_rows(&self, dst: ViewMut<'_>, src: View<'_>, rows: &IndexTable) {
        simd::run_plain(
            indexed(dst, src, rows),
            #[inline(always)]
            |(mut dst, src)| {
                for (i, &row) in rows.values().iter().enumerate() {
                    match chosen(row, src.rows()) {
                        Some(row) => {
                            dst.row(i).iter_mut().zip(src.row(row)).for_each(|(to, from)| *to *= from)
                        }
                        None => dst.row(i).fill(0.0),
                    }
                }
            },
        )
    }
    fn add_to_picked_rows(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, rows: &IndexTable) {
        assert_eq!(dst.cols(), src.cols(), "columns of destination and source");
        assert_eq!(rows.len(), src.rows(), "indexes for a matrix of {} rows", src.rows());
        simd::run_plain(
            split(dst, [src]),
            #[inline(always)]
            |(mut dst, [src])| {
                for (i, &row) in rows.values().iter().enumerate() {
                    if let Some(row) = chosen(row, dst.rows()) {
                        increase(dst.row(row), alpha, src.row(i));
                    }
                }
            },
        )
    }
    fn copy_rows_multi(&self, dst: ViewMut<'_>, alpha: f32, arena: View<'_>, offsets: &OffsetTable) {
        simd::run_plain(
            dst,
            #[inline(always)]
            |dst| {
                gather(
                    dst,
                    arena,
                    offsets.values(),
                    #[inline(always)]
                    |to, from| match from {
                        Some(from) => put(to, alpha, from),
                        None => to.fill(0.0),
                    },
                )
            },
        )
    }
    fn add_rows_multi(&self, dst: ViewMut<'_>, alpha: f32, arena: View<'_>, offsets: &OffsetTable) {
        simd::run_plain(
            dst,
            #[inline(always)]
            |dst| {
                gather(
                    dst,
                    arena,
                    offsets.values(),
                    #[inline(always)]
                    |to, from| {
                        if let Some(from) = from {
                            increase(to, alpha, from)
                        }
                    },
                )
            },
        )
    }
    fn copy_to_rows_multi(&self, arena: ViewMut<'_>, src: View<'_>, offsets: &OffsetTable) {
        scatter(arena, src, offsets.values(), |to, from| to.copy_from_slice(from))
    }
    fn add_to_rows_multi(&self, arena: ViewMut<'_>, alpha: f32, src: View<'_>, offsets: &OffsetTable) {
        simd::run_plain(
            arena,
            #[inline(always)]
            |arena| {
                scatter(
                    arena,
                    src,
                    offsets.values(),
                    #[inline(always)]
                    |to, from| increase(to, alpha, from),
                )
            },
        )
    }
    fn add_row_ranges(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, ranges: &IndexTable) {
        /// Number of columns that are summed together.
        const WIDTH: usize = 512;
        assert_eq!(dst.cols(), src.cols(), "columns of destination and source");
        assert_eq!(ranges.len(), 2 * dst.rows(), "begins and ends for a matrix of {} rows", dst.rows());
        simd::run_plain(
            split(dst, [src]),
            #[inline(always)]
            |(mut dst, [src])| {
                let cols = dst.cols();
                for i in 0..dst.rows() {
                    let range = range(ranges.values(), i, src.rows());
                    if range.len() == 1 {
                        increase(dst.row(i), alpha, src.row(range.start));
                    }
                    if range.len() < 2 {
                        continue;
                    }
                    for start in (0..cols).step_by(WIDTH) {
                        let end = cols.min(start + WIDTH);
                        let mut sums = [0.0; WIDTH];
                        let sums = &mut sums[..end - start];
                        for row in range.clone() {
                            increase(sums, 1.0, &src.row(row)[start..end]);
                        }
                        increase(&mut dst.row(i)[start..end], alpha, sums);
                    }
                }
            },
        )
    }
    fn sum_row_lists(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, lists: &RowLists, adds: bool) {
        assert_eq!(dst.cols(), src.cols(), "columns of destination and source");
        assert_eq!(lists.len(), dst.rows(), "lists for a matrix of {} rows", dst.rows());
        simd::run_plain(
            split(dst, [src]),
            #[inline(always)]
            |(mut dst, [src])| {
                for i in 0..dst.rows() {
                    if !adds {
                        dst.row(i).fill(0.0);
                    }
                    for row in lists.list(i).iter().filter_map(|&row| chosen(row, src.rows())) {
                        increase(dst.row(i), alpha, src.row(row));
                    }
                }
            },
        )
    }
}
