//! Rows combined with a row vector or scaled by a column vector.

use super::CpuBackend;
use super::access::{Pair, Rows, RowsMut, pair, rows_at, same_shape, split};
use super::elementwise::{Combine, combine_row};
use super::halves::{by_rows, part};
use super::nontemporal::set;
use crate::backend::{NormalizedPlus, RowsWithVectors};
use crate::view::{View, ViewMut};
use kaldi_simd::{self as simd, Kernel, Simd};

#[track_caller]
fn row_of(row: &View<'_>, matrix: &ViewMut<'_>) {
    assert!(
        row.rows() == 1 && row.cols() == matrix.cols(),
        "row vector {} x {} for a {} x {} matrix",
        row.rows(),
        row.cols(),
        matrix.rows(),
        matrix.cols()
    );
}

/// dst = f(dst, row), the row being the same for all rows of dst.
#[track_caller]
fn with_row(dst: ViewMut<'_>, row: View<'_>, f: impl Fn(f32, [f32; 1]) -> f32 + Copy) {
    row_of(&row, &dst);
    let (dst, [row]) = split(dst, [row]);
    let sources = [row.repeated(dst.rows())];
    simd::run(Combine { dst, sources, f })
}

/// dst = f(dst, row, src).
#[track_caller]
fn with_row_and(dst: ViewMut<'_>, row: View<'_>, src: View<'_>, f: impl Fn(f32, [f32; 2]) -> f32 + Copy) {
    row_of(&row, &dst);
    same_shape(&dst.as_view(), &src);
    let (dst, [row, src]) = split(dst, [row, src]);
    let sources = [row.repeated(dst.rows()), src];
    simd::run(Combine { dst, sources, f })
}

#[inline(always)]
fn combine<const N: usize>(
    dst: RowsMut<'_>,
    sources: [Rows<'_>; N],
    f: impl Fn(f32, [f32; N]) -> f32 + Copy,
) {
    simd::run(Combine { dst, sources, f })
}

/// dst = f(src, rows), the rows being the same for all rows of dst; in place allowed.
#[track_caller]
fn with_two_rows(
    dst: ViewMut<'_>,
    src: View<'_>,
    rows: [View<'_>; 2],
    f: impl Fn(f32, f32, f32) -> f32 + Copy,
) {
    rows.iter().for_each(|row| row_of(row, &dst));
    let (_, rows) = split(dst, rows);
    let [first, second] = rows.map(|row| row.repeated(dst.rows()));
    match pair(dst, src) {
        Pair::Same(dst) => combine(dst, [first, second], |x, [a, b]| f(x, a, b)),
        Pair::Apart(dst, src) => set(dst, [src, first, second], |_: f32, [x, a, b]: [f32; 3]| f(x, a, b)),
    }
}

/// dst.row(i) = f(dst.row(i), col[i], sources' rows i).
struct WithColumn<'a, const N: usize, F> {
    dst: RowsMut<'a>,
    col: Rows<'a>,
    sources: [Rows<'a>; N],
    f: F,
}

impl<const N: usize, F: Fn(f32, f32, [f32; N]) -> f32 + Copy> Kernel for WithColumn<'_, N, F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        let f = self.f;
        for i in 0..self.dst.rows() {
            let factor = self.col.first(i);
            let sources = rows_at(&self.sources, i);
            combine_row::<S, N, _>(self.dst.row(i), sources, move |old: f32, s: [f32; N]| f(old, factor, s));
        }
    }
}

/// dst = f(dst, col, sources), col being one number for each row.
#[track_caller]
fn with_column<const N: usize>(
    dst: ViewMut<'_>,
    col: View<'_>,
    sources: [View<'_>; N],
    f: impl Fn(f32, f32, [f32; N]) -> f32 + Copy,
) {
    assert!(
        col.cols() == 1 && col.rows() == dst.rows(),
        "column vector {} x {} for a {} x {} matrix",
        col.rows(),
        col.cols(),
        dst.rows(),
        dst.cols()
    );
    for src in &sources {
        same_shape(&dst.as_view(), src);
    }
    let (_, [col]) = split(dst, [col]);
    let (dst, sources) = split(dst, sources);
    simd::run(WithColumn { dst, col, sources, f })
}

impl RowsWithVectors for CpuBackend {
    fn set_rows(&self, dst: ViewMut<'_>, row: View<'_>) {
        by_rows(dst, &[row], |rows| with_row(dst.row_range(rows), row, |_, [r]| r))
    }
    fn add_to_rows(&self, dst: ViewMut<'_>, alpha: f32, row: View<'_>) {
        with_row(dst, row, move |old, [r]| old + alpha * r)
    }
    fn scale_cols(&self, dst: ViewMut<'_>, row: View<'_>) {
        with_row(dst, row, |old, [r]| old * r)
    }
    fn scale_rows(&self, dst: ViewMut<'_>, col: View<'_>) {
        with_column(dst, col, [], |old, factor, []| old * factor)
    }
    fn add_scaled_rows(&self, dst: ViewMut<'_>, alpha: f32, col: View<'_>, src: View<'_>) {
        with_column(dst, col, [src], move |old, factor, [x]| old + alpha * factor * x)
    }
    fn add_scaled_cols(&self, dst: ViewMut<'_>, alpha: f32, row: View<'_>, src: View<'_>) {
        with_row_and(dst, row, src, move |old, [r, x]| old + alpha * r * x)
    }
    fn affine_cols(&self, dst: ViewMut<'_>, src: View<'_>, scale: View<'_>, offset: View<'_>) {
        with_two_rows(dst, src, [scale, offset], |x, scale, offset| scale * x + offset)
    }
    fn normalize_cols(&self, dst: ViewMut<'_>, src: View<'_>, mean: View<'_>, scale: View<'_>) {
        by_rows(dst, &[src, mean, scale], |rows| {
            let (dst, src) = (dst.row_range(rows.clone()), part(src, rows));
            with_two_rows(dst, src, [mean, scale], |x, mean, scale| (x - mean) * scale)
        })
    }
    fn normalize_cols_and_add(&self, dst: ViewMut<'_>, terms: NormalizedPlus<'_>) {
        let NormalizedPlus { src, mean, scale, factor, other } = terms;
        by_rows(dst, &[src, mean, scale, factor, other], |rows| {
            let [src, other] = [src, other].map(|source| part(source, rows.clone()));
            normalize_and_add(dst.row_range(rows), src, [mean, scale, factor], other)
        })
    }
}

/// dst = (src - mean) * scale + factor * other, with mean, scale and factor the same for all rows; in place allowed.
#[track_caller]
fn normalize_and_add(dst: ViewMut<'_>, src: View<'_>, rows: [View<'_>; 3], other: View<'_>) {
    rows.iter().for_each(|row| row_of(row, &dst));
    same_shape(&dst.as_view(), &other);
    let (_, [mean, scale, factor, other]) = split(dst, [rows[0], rows[1], rows[2], other]);
    let [mean, scale, factor] = [mean, scale, factor].map(|row| row.repeated(dst.rows()));
    let at = |x: f32, [mean, scale, factor, y]: [f32; 4]| (x - mean) * scale + factor * y;
    match pair(dst, src) {
        Pair::Same(dst) => combine(dst, [mean, scale, factor, other], at),
        Pair::Apart(dst, src) => {
            combine(dst, [src, mean, scale, factor, other], move |_, [x, a, b, c, d]| at(x, [a, b, c, d]))
        }
    }
}
