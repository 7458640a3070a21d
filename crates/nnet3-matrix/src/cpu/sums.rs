//! Sums over all elements, over rows, over columns and over groups of columns.
//!
//! Short stretches are summed in `f32`, in several lanes, and the results in `f64`.

use super::CpuBackend;
use super::access::{
    Rows, RowsMut, destination, flattened_sources, overlap, rows_at, same_shape, source, split,
};
use super::elementwise::derivative;
use super::lanes::{RowSet, at, cut, total};
use crate::backend::{Activation, ColSumsAndDots, ColumnTerm, Reductions, WholeMatrices};
use crate::memory::Accumulator;
use crate::view::{View, ViewMut};
use kaldi_simd::{self as simd, Kernel, Simd};
use std::ops::Range;

/// Σ of all elements' products over N sources.
struct Total<'a, const N: usize> {
    sources: [Rows<'a>; N],
}

impl<const N: usize> Kernel for Total<'_, N> {
    type Output = f64;
    #[inline(always)]
    fn run<S: Simd>(self) -> f64 {
        let mut sum = 0.0;
        for i in 0..self.sources[0].rows() {
            sum += total::<S, N>(rows_at(&self.sources, i));
        }
        sum
    }
}

fn dot(a: View<'_>, b: View<'_>) -> f64 {
    same_shape(&a, &b);
    simd::run(Total { sources: flattened_sources([a, b]).map(source) })
}

/// col = alpha · (row sums of N sources' products) + beta · col.
struct RowTotals<'a, const N: usize> {
    col: RowsMut<'a>,
    alpha: f32,
    sources: [Rows<'a>; N],
    beta: f32,
}

impl<const N: usize> Kernel for RowTotals<'_, N> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        for i in 0..self.col.rows() {
            let sum = self.alpha * total::<S, N>(rows_at(&self.sources, i)) as f32;
            let out = &mut self.col.row(i)[0];
            *out = if self.beta == 0.0 { sum } else { sum + self.beta * *out };
        }
    }
}

fn row_totals<const N: usize>(col: ViewMut<'_>, alpha: f32, sources: [View<'_>; N], beta: f32) {
    let rows = sources[0].rows();
    assert!(col.cols() == 1 && col.rows() == rows, "column {} x {} for {rows} rows", col.rows(), col.cols());
    let (col, sources) = split(col, sources);
    simd::run(RowTotals { col, alpha, sources, beta })
}

/// Columns that are summed at a time; with the sums of both precisions they stay in the first-level cache.
pub(super) const WIDTH: usize = 512;
/// Rows that are summed in `f32`.
pub(super) const HEIGHT: usize = 64;

/// Column sums of f, handed to `sink(first column, sums)` part by part.
struct ColumnTotals<'a, const N: usize, F, G> {
    sources: [Rows<'a>; N],
    f: F,
    sink: G,
}

impl<const N: usize, F, G> Kernel for ColumnTotals<'_, N, F, G>
where
    F: Fn([f32; N]) -> f32 + Copy,
    G: FnMut(usize, &[f64]),
{
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        let (rows, cols) = (self.sources[0].rows(), self.sources[0].cols());
        for start in (0..cols).step_by(WIDTH) {
            let end = cols.min(start + WIDTH);
            let (mut sums, mut totals) = ([0.0f32; WIDTH], [0.0f64; WIDTH]);
            let (sums, totals) = (&mut sums[..end - start], &mut totals[..end - start]);
            for top in (0..rows).step_by(HEIGHT) {
                let bottom = rows.min(top + HEIGHT);
                sums.fill(0.0);
                let mut i = top;
                while i + 4 <= bottom {
                    let line = |i| cut(rows_at(&self.sources, i), start..end);
                    add_rows(sums, [line(i), line(i + 1), line(i + 2), line(i + 3)], self.f);
                    i += 4;
                }
                while i < bottom {
                    add_rows(sums, [cut(rows_at(&self.sources, i), start..end)], self.f);
                    i += 1;
                }
                for (total, sum) in totals.iter_mut().zip(&*sums) {
                    *total += *sum as f64;
                }
            }
            (self.sink)(start, totals);
        }
    }
}

/// sums += Σ over R rows of f.
#[inline(always)]
pub(super) fn add_rows<const N: usize, const R: usize>(
    sums: &mut [f32],
    rows: [RowSet<'_, N>; R],
    f: impl Fn([f32; N]) -> f32 + Copy,
) {
    let n = sums.len();
    let mut lines = rows;
    for line in &mut lines {
        *line = cut(*line, 0..n);
    }
    for j in 0..n {
        let mut sum = sums[j];
        for line in lines {
            sum += f(at(line, j));
        }
        sums[j] = sum;
    }
}

/// Columns up to which rows are taken together.
const NARROW: usize = 32;

/// Column sums of f; narrow matrices without gaps are taken several rows at a time.
pub(super) fn column_totals<const N: usize>(
    sources: [View<'_>; N],
    f: impl Fn([f32; N]) -> f32 + Copy,
    mut sink: impl FnMut(usize, &[f64]),
) {
    let (rows, cols) = (sources[0].rows(), sources[0].cols());
    let together = 128 / cols.max(1);
    if cols == 0 || cols > NARROW || rows < 2 * together || !sources.iter().all(|s| s.is_contiguous()) {
        return simd::run(ColumnTotals { sources: sources.map(source), f, sink });
    }
    let lines = rows / together;
    let mut totals = [0.0f64; NARROW];
    let mut add = |first: usize, sums: &[f64]| {
        for (k, sum) in sums.iter().enumerate() {
            totals[(first + k) % cols] += sum;
        }
    };
    let main = sources.map(|s| s.row_range(0..lines * together).reshape(lines, together * cols));
    simd::run(ColumnTotals { sources: main.map(source), f, sink: &mut add });
    let rest = sources.map(|s| s.row_range(lines * together..rows));
    simd::run(ColumnTotals { sources: rest.map(source), f, sink: &mut add });
    sink(0, &totals[..cols])
}

/// row = alpha · (column sums of f) + beta · row.
fn columns_into<const N: usize>(
    row: ViewMut<'_>,
    alpha: f32,
    sources: [View<'_>; N],
    beta: f32,
    f: impl Fn([f32; N]) -> f32 + Copy,
) {
    one_row_of(&row, &sources[0]);
    let (mut row, _) = split(row, sources);
    column_totals(sources, f, |first, sums| {
        let out = &mut row.row(0)[first..first + sums.len()];
        for (out, &sum) in out.iter_mut().zip(sums) {
            let sum = alpha * sum as f32;
            *out = if beta == 0.0 { sum } else { sum + beta * *out };
        }
    })
}

/// row = beta · row + alpha · each of a few rows in turn, as BLAS's axpy does it.
struct FewRows<'a> {
    row: RowsMut<'a>,
    alpha: f32,
    src: Rows<'a>,
    beta: f32,
}

impl Kernel for FewRows<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        let out = self.row.row(0);
        if self.beta == 0.0 {
            out.fill(0.0);
        } else {
            out.iter_mut().for_each(|x| *x *= self.beta);
        }
        for i in 0..self.src.rows() {
            for (out, &x) in out.iter_mut().zip(self.src.row(i)) {
                *out = S::fma(self.alpha, x, *out);
            }
        }
    }
}

fn col_sums(row: ViewMut<'_>, alpha: f32, src: View<'_>, beta: f32) {
    if src.rows() > HEIGHT {
        return columns_into(row, alpha, [src], beta, |[x]| x);
    }
    one_row_of(&row, &src);
    let (row, [src]) = split(row, [src]);
    simd::run(FewRows { row, alpha, src, beta });
}

/// row = alpha · (column sums of a ⊙ b) + beta · row. Pairs of rows are summed in `f32`, with one rounding if
/// products can be fused, and the pairs in `f64`. This is as accurate as BLAS's dot product of two columns, and
/// equal to OpenBLAS's. If terms nearly cancel, as in the variance of a single frame, a different last digit
/// shows.
struct ColumnDots<'a> {
    row: RowsMut<'a>,
    alpha: f32,
    a: Rows<'a>,
    b: Rows<'a>,
    beta: f32,
}

impl Kernel for ColumnDots<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        let (rows, cols) = (self.a.rows(), self.a.cols());
        for start in (0..cols).step_by(WIDTH) {
            let range = start..cols.min(start + WIDTH);
            let mut totals = [0.0f64; WIDTH];
            let totals = &mut totals[..range.len()];
            let line = |i| (&self.a.row(i)[range.clone()], &self.b.row(i)[range.clone()]);
            add_pairs::<S>(totals, 0..rows, line);
            for (out, &total) in self.row.row(0)[range.clone()].iter_mut().zip(&*totals) {
                let sum = self.alpha * total as f32;
                *out = if self.beta == 0.0 { sum } else { sum + self.beta * *out };
            }
        }
    }
}

/// totals += Σ over these rows of the products of the elements of both slices, as [`ColumnDots`] sums them.
#[inline(always)]
pub(super) fn add_pairs<'a, S: Simd>(
    totals: &mut [f64],
    rows: Range<usize>,
    line: impl Fn(usize) -> (&'a [f32], &'a [f32]),
) {
    #[inline(always)]
    fn add<S: Simd, const PAIRS: usize>(
        totals: &mut [f64],
        lines: [(&[f32], &[f32]); PAIRS],
        next: [(&[f32], &[f32]); PAIRS],
    ) {
        let n = totals.len();
        let (mut lines, mut next) = (lines, next);
        for k in 0..PAIRS {
            lines[k] = (&lines[k].0[..n], &lines[k].1[..n]);
            next[k] = (&next[k].0[..n], &next[k].1[..n]);
        }
        for j in 0..n {
            let mut total = totals[j];
            for k in 0..PAIRS {
                let ((a, b), (c, d)) = (lines[k], next[k]);
                total += S::fma(a[j], b[j], c[j] * d[j]) as f64;
            }
            totals[j] = total;
        }
    }
    let mut i = rows.start;
    while i + 8 <= rows.end {
        let first = [line(i), line(i + 2), line(i + 4), line(i + 6)];
        add::<S, 4>(totals, first, [line(i + 1), line(i + 3), line(i + 5), line(i + 7)]);
        i += 8;
    }
    while i + 2 <= rows.end {
        add::<S, 1>(totals, [line(i)], [line(i + 1)]);
        i += 2;
    }
    if i < rows.end {
        let (a, b) = line(i);
        for (j, total) in totals.iter_mut().enumerate() {
            *total += (a[j] * b[j]) as f64;
        }
    }
}

fn col_dots(row: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>, beta: f32) {
    same_shape(&a, &b);
    one_row_of(&row, &a);
    let (row, [a, b]) = split(row, [a, b]);
    simd::run(ColumnDots { row, alpha, a, b, beta });
}

/// [`col_sums`] of b and [`col_dots`] in one go over both.
struct SumsAndDots<'a> {
    sums: RowsMut<'a>,
    sums_factor: f32,
    dots: RowsMut<'a>,
    dots_factor: f32,
    a: Rows<'a>,
    b: Rows<'a>,
}

impl Kernel for SumsAndDots<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        let (rows, cols) = (self.a.rows(), self.a.cols());
        for start in (0..cols).step_by(WIDTH) {
            let range = start..cols.min(start + WIDTH);
            let width = range.len();
            let (mut sums, mut totals, mut dots) = ([0.0f32; WIDTH], [0.0f64; WIDTH], [0.0f64; WIDTH]);
            for top in (0..rows).step_by(HEIGHT) {
                let bottom = rows.min(top + HEIGHT);
                let (sums, totals) = (&mut sums[..width], &mut totals[..width]);
                sums.fill(0.0);
                let line = |i| [&self.b.row(i)[range.clone()]];
                let mut i = top;
                while i + 4 <= bottom {
                    add_rows(sums, [line(i), line(i + 1), line(i + 2), line(i + 3)], |[x]| x);
                    i += 4;
                }
                while i < bottom {
                    add_rows(sums, [line(i)], |[x]| x);
                    i += 1;
                }
                for (total, sum) in totals.iter_mut().zip(&*sums) {
                    *total += *sum as f64;
                }
                let both = |i| (&self.a.row(i)[range.clone()], &self.b.row(i)[range.clone()]);
                add_pairs::<S>(&mut dots[..width], top..bottom, both);
            }
            for (row, factor, totals) in
                [(&mut self.sums, self.sums_factor, &totals), (&mut self.dots, self.dots_factor, &dots)]
            {
                for (out, &total) in row.row(0)[range.clone()].iter_mut().zip(totals) {
                    *out = factor * total as f32;
                }
            }
        }
    }
}

#[track_caller]
fn one_row_of(row: &ViewMut<'_>, src: &View<'_>) {
    let cols = src.cols();
    assert!(row.rows() == 1 && row.cols() == cols, "row {} x {} for {cols} columns", row.rows(), row.cols());
}

impl Reductions for CpuBackend {
    fn sum(&self, src: View<'_>) -> f64 {
        simd::run(Total { sources: flattened_sources([src]).map(source) })
    }
    fn dot(&self, a: View<'_>, b: View<'_>) -> f64 {
        dot(a, b)
    }
    fn col_sums(&self, row: ViewMut<'_>, alpha: f32, src: View<'_>, beta: f32) {
        col_sums(row, alpha, src, beta)
    }
    fn col_dots(&self, row: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>, beta: f32) {
        col_dots(row, alpha, a, b, beta)
    }
    fn col_sums_and_dots(&self, both: ColSumsAndDots<'_>) {
        let ColSumsAndDots { sums, sums_factor, dots, dots_factor, a, b } = both;
        same_shape(&a, &b);
        if b.rows() <= HEIGHT || b.cols() <= NARROW {
            col_sums(sums, sums_factor, b, 0.0);
            return col_dots(dots, dots_factor, a, b, 0.0);
        }
        one_row_of(&sums, &b);
        one_row_of(&dots, &b);
        assert!(!overlap(&sums.as_view(), &dots.as_view()), "sums and products in one place");
        let (sums, _) = split(sums, [a, b]);
        let (dots, [a, b]) = split(dots, [a, b]);
        simd::run(SumsAndDots { sums, sums_factor, dots, dots_factor, a, b });
    }
    fn row_sums(&self, col: ViewMut<'_>, alpha: f32, src: View<'_>, beta: f32) {
        row_totals(col, alpha, [src], beta)
    }
    fn row_dots(&self, col: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>, beta: f32) {
        same_shape(&a, &b);
        row_totals(col, alpha, [a, b], beta)
    }
    fn accumulate(&self, sums: &mut Accumulator, first: usize, src: View<'_>, term: ColumnTerm) {
        let (len, cols) = (sums.len(), src.cols());
        assert!(first <= len && cols <= len - first, "{cols} sums from {first} of {len}");
        let sums = &mut sums.values_mut()[first..first + cols];
        let sink = |start: usize, part: &[f64]| {
            sums[start..].iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
        };
        use Activation::{Relu, Sigmoid, Tanh};
        match term {
            ColumnTerm::Value => column_totals([src], |[y]| y, sink),
            ColumnTerm::Square => column_totals([src], |[y]| y * y, sink),
            ColumnTerm::Derivative(Sigmoid) => column_totals([src], |[y]| derivative(Sigmoid, y), sink),
            ColumnTerm::Derivative(Tanh) => column_totals([src], |[y]| derivative(Tanh, y), sink),
            ColumnTerm::Derivative(Relu) => column_totals([src], |[y]| derivative(Relu, y), sink),
            ColumnTerm::AtLeast(least) => {
                column_totals([src], |[y]| if y >= least { 1.0 } else { 0.0 }, sink)
            }
        }
    }
    fn accumulate_dot(&self, sums: &mut Accumulator, index: usize, alpha: f64, a: View<'_>, b: View<'_>) {
        sums.values_mut()[index] += alpha * dot(a, b);
    }
    fn col_sums_and_square(&self, col: ViewMut<'_>, sums: &mut Accumulator, index: usize, src: View<'_>) {
        assert_eq!((col.rows(), col.cols()), (src.cols(), 1), "a column for the sums of {src:?}");
        self.accumulate_dot(sums, index, 1.0, src, src);
        self.set(col, 0.0);
        let mut col = destination(col);
        column_totals(
            [src],
            |[y]| y,
            |start, part| {
                part.iter().enumerate().for_each(|(k, &sum)| col.row(start + k)[0] += sum as f32);
            },
        );
    }
    fn accumulate_row(&self, sums: &mut Accumulator, first: usize, alpha: f64, row: View<'_>) {
        assert_eq!(row.rows(), 1, "rows");
        let sums = &mut sums.values_mut()[first..first + row.cols()];
        sums.iter_mut().zip(source(row).row(0)).for_each(|(sum, &x)| *sum += alpha * x as f64);
    }
}
