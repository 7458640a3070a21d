//! Products with weights in panels: a tile, some rows of the output by one panel, is summed in registers over all terms
//! of all taps.

use super::bf16::{self, Rounded};
use super::packed::transpose;
use crate::backend::WholeMatrices;
use crate::bytes::Bytes;
use crate::cpu::CpuBackend;
use crate::cpu::access::{Rows, RowsMut, destination, overlap, source};
use crate::cpu::arithmetic::Arithmetic;
use crate::cpu::begin::Begin;
use crate::memory::Matrix;
use crate::panels::{PanelLayout, PanelProducts, PanelView, Panels, Parts, Start, WeightForm};
use crate::view::{View, ViewMut};
use kaldi_simd::{self as simd, Kernel, Simd, Vector, VectorLevel};
use std::ops::Range;

const LANES: usize = 16;
/// Columns of a panel with AVX-512, and otherwise.
const WIDE: usize = 3 * LANES;
const NARROW: usize = LANES;
/// Taps that are summed at a time.
const MOST_TAPS: usize = 8;
/// Largest number of rows that are multiplied with all panels, one after the other. It is less if so many elements of a
/// tap would not stay in a second-level cache.
const MOST_ROWS: usize = 128;
const CACHED_ELEMENTS: usize = 1 << 17;
/// Number of elements by which the prefetch of weights is ahead: with few rows, products would wait for them.
const AHEAD: usize = 2048;

/// Columns of the panels that this machine's products read.
fn width() -> usize {
    if simd::vector_level() == VectorLevel::Avx512 { WIDE } else { NARROW }
}

impl PanelProducts for CpuBackend {
    fn arrange(&self, mut weights: Matrix, form: WeightForm) -> Panels {
        let (outputs, terms, width) = (weights.rows(), weights.cols(), width());
        let may_be_rounded = || (1..=Bytes::MOST_TERMS).contains(&terms) && !weights.is_empty();
        if form == WeightForm::Int8 && may_be_rounded() && weights.values().iter().all(|x| x.is_finite()) {
            return Panels::rounded(Bytes::new(&weights.values(), terms), outputs, terms);
        }
        if let Arithmetic::Halves(kernel) = self.arithmetic
            && !weights.is_empty()
            && weights.values().iter().all(|x| x.is_finite())
        {
            let halves = bf16::round_weights(kernel, source(weights.view()));
            return Panels::halves(halves, outputs, terms);
        }
        // A panel takes the place of its outputs' rows.
        let mut copy = Matrix::zeros(&crate::cpu::cpu(), width.min(outputs), terms);
        for first in (0..outputs).step_by(width) {
            let panel = weights.view_mut().row_range(first..outputs.min(first + width));
            let rows = copy.view_mut().row_range(0..panel.rows());
            self.copy(rows, panel.as_view());
            let panel = destination(panel.reshape(1, panel.rows() * terms));
            simd::run(Arrange { rows: source(rows.as_view()), panel });
        }
        Panels::new(weights, PanelLayout::new(width, outputs, terms))
    }

    fn multiply(
        &self,
        output: ViewMut<'_>,
        mut start: Start<'_>,
        taps: &mut dyn Iterator<Item = View<'_>>,
        weights: PanelView<'_>,
    ) {
        assert_eq!(output.cols(), weights.outputs(), "columns of {output:?}");
        let mut done = 0;
        loop {
            let (mut some, mut count, mut terms) = ([View::empty(); MOST_TAPS], 0, 0);
            for (to, tap) in some.iter_mut().zip(&mut *taps) {
                *to = tap;
                (count, terms) = (count + 1, terms + tap.cols());
            }
            if count > 0 || done == 0 {
                add_up(output, start, &some[..count], weights.term_range(done..done + terms));
            }
            (start, done) = (Start::Output, done + terms);
            if count < MOST_TAPS {
                break;
            }
        }
        assert_eq!(done, weights.terms(), "terms of the product into {output:?}");
    }
}

/// The product of at most [`MOST_TAPS`] taps.
fn add_up(output: ViewMut<'_>, start: Start<'_>, taps: &[View<'_>], weights: PanelView<'_>) {
    let numbers = match weights.parts() {
        Parts::Float(parts) => parts,
        Parts::Int8 { .. } | Parts::Bf16 { .. } => [View::empty(); 2],
    };
    let row = if let Start::Row(row) = start { row } else { View::empty() };
    for read in taps.iter().chain(&numbers).chain([&row]) {
        assert!(!overlap(&output.as_view(), read), "product overlaps what it reads: {output:?}, {read:?}");
    }
    assert!(taps.iter().all(|tap| tap.rows() == output.rows()), "rows of {taps:?} into {output:?}");
    assert!(row.is_empty() || (row.rows() == 1 && row.cols() == output.cols()), "start {row:?}");
    if output.is_empty() {
        return;
    }
    let mut rows = [source(View::empty()); MOST_TAPS];
    rows.iter_mut().zip(taps).for_each(|(rows, &tap)| *rows = source(tap));
    let start = match start {
        Start::Zero => Begin::Zero,
        Start::Row(row) => Begin::Row(source(row).row(0)),
        Start::Output => Begin::Output,
    };
    if let Parts::Int8 { bytes, first } = weights.parts() {
        return super::bytes::add_up(&mut destination(output), start, &rows[..taps.len()], bytes, first);
    }
    if let Parts::Bf16 { weights, first } = weights.parts() {
        let (output, taps) = (&mut destination(output), &rows[..taps.len()]);
        return Rounded { output, start, taps, weights, first }.run();
    }
    let [whole, rest] = numbers.map(source);
    let (taps, layout) = (&rows[..taps.len()], weights.layout());
    simd::run(Product { output: destination(output), start, taps, whole, rest, layout });
}

/// Copies the weights of a panel's outputs, a row each, to the panel.
struct Arrange<'a> {
    rows: Rows<'a>,
    panel: RowsMut<'a>,
}

impl Kernel for Arrange<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        let (outputs, terms) = (self.rows.rows(), self.rows.cols());
        if terms > 0 {
            transpose::<S>(self.panel.row(0), outputs, self.rows, 0..outputs, 0..terms);
        }
    }
}

struct Product<'a> {
    output: RowsMut<'a>,
    start: Begin<'a>,
    taps: &'a [Rows<'a>],
    /// The panels that are full, each as a row.
    whole: Rows<'a>,
    rest: Rows<'a>,
    layout: PanelLayout,
}

/// A panel, and some of its columns, at most a tile's width.
#[derive(Clone, Copy)]
struct Strip<'a> {
    panel: &'a [f32],
    /// The elements that are read [`AHEAD`] elements after the panel's, as far as known.
    soon: &'a [f32],
    /// Columns of the panel.
    stride: usize,
    /// The first of these columns in the panel, and in the output.
    first: usize,
    column: usize,
    count: usize,
}

impl Product<'_> {
    /// M rows from `row` on with the columns of a strip, which are V · 16, or with `PART` fewer.
    #[inline(always)]
    fn tile<S: Simd, const M: usize, const V: usize, const PART: bool>(
        &mut self,
        row: usize,
        strip: Strip<'_>,
    ) {
        let Strip { panel, mut soon, stride, first, column, count } = strip;
        assert!(count + first <= stride && if PART { count > (V - 1) * LANES } else { count == V * LANES });
        let load = |from: &[f32], v: usize| {
            if PART && v + 1 == V {
                S::V::load_part(&from[v * LANES..count], 0.0)
            } else {
                S::V::load(&from[v * LANES..(v + 1) * LANES])
            }
        };
        let mut sums = [[S::V::splat(0.0); V]; M];
        for i in 0..M {
            for v in 0..V {
                match self.start {
                    Begin::Zero => {}
                    Begin::Row(start) => sums[i][v] = load(&start[column..column + count], v),
                    Begin::Output => sums[i][v] = load(&self.output.row(row + i)[column..column + count], v),
                }
            }
        }
        let mut panel = panel;
        for tap in self.taps {
            let mut rows: [&[f32]; M] = [&[]; M];
            for i in 0..M {
                rows[i] = tap.row(row + i);
            }
            let (now, later) = panel.split_at(tap.cols() * stride);
            panel = later;
            for (k, weights) in now.chunks_exact(stride).enumerate() {
                for v in 0..V {
                    if let Some(line) = soon.get(k * stride + v * LANES) {
                        S::prefetch(line);
                    }
                }
                let weights = &weights[first..first + count];
                let mut columns = [S::V::splat(0.0); V];
                for v in 0..V {
                    columns[v] = load(weights, v);
                }
                for i in 0..M {
                    let factor = S::V::splat(rows[i][k]);
                    for v in 0..V {
                        sums[i][v] = factor.mul_add(columns[v], sums[i][v]);
                    }
                }
            }
            soon = soon.get(now.len()..).unwrap_or_default();
        }
        for i in 0..M {
            let out = &mut self.output.row(row + i)[column..column + count];
            for v in 0..V {
                if PART && v + 1 == V {
                    sums[i][v].store_part(&mut out[v * LANES..count]);
                } else {
                    sums[i][v].store(&mut out[v * LANES..(v + 1) * LANES]);
                }
            }
        }
    }

    /// Some rows with a strip, in tiles of about equal height.
    #[inline(always)]
    fn strip<S: Simd, const V: usize, const PART: bool>(&mut self, rows: Range<usize>, mut strip: Strip<'_>) {
        let [most, _] = tile_of(S::LEVEL);
        let tiles = rows.len().div_ceil(most);
        let mut row = rows.start;
        for t in 0..tiles {
            let height = (rows.end - row).div_ceil(tiles - t);
            match height {
                1 => self.tile::<S, 1, V, PART>(row, strip),
                2 => self.tile::<S, 2, V, PART>(row, strip),
                3 if most > 2 => self.tile::<S, 3, V, PART>(row, strip),
                4 if most > 2 => self.tile::<S, 4, V, PART>(row, strip),
                5 if most > 2 => self.tile::<S, 5, V, PART>(row, strip),
                6 if most > 2 => self.tile::<S, 6, V, PART>(row, strip),
                7 if most > 6 => self.tile::<S, 7, V, PART>(row, strip),
                8 if most > 6 => self.tile::<S, 8, V, PART>(row, strip),
                _ => unreachable!("a tile of {height} rows"),
            }
            row += height;
            strip.soon = &[];
        }
    }
}

impl<'a> Product<'a> {
    /// Some rows with a panel of `width` columns, which are the output's from `column` on, up to W · 16 at a time.
    #[inline(always)]
    fn panel<S: Simd>(
        &mut self,
        rows: Range<usize>,
        (panel, soon): (&'a [f32], &'a [f32]),
        width: usize,
        column: usize,
    ) {
        let [_, most_columns] = tile_of(S::LEVEL);
        for first in (0..width).step_by(most_columns) {
            let count = (width - first).min(most_columns);
            let strip = Strip { panel, soon, stride: width, first, column: column + first, count };
            let rows = rows.clone();
            if S::LEVEL != VectorLevel::Avx512 {
                match count == LANES {
                    true => self.strip::<S, 1, false>(rows, strip),
                    false => self.strip::<S, 1, true>(rows, strip),
                }
                continue;
            }
            // With AVX-512, loading a part of a vector takes no longer than all of it.
            match count.div_ceil(LANES) {
                1 => self.strip::<S, 1, true>(rows, strip),
                2 => self.strip::<S, 2, true>(rows, strip),
                _ => self.strip::<S, 3, true>(rows, strip),
            }
        }
    }
}

/// Rows and columns of a tile: as many sums as registers.
const fn tile_of(level: VectorLevel) -> [usize; 2] {
    match level {
        VectorLevel::Avx512 => [8, WIDE],
        VectorLevel::Avx2 => [6, NARROW],
        VectorLevel::Portable => [2, NARROW],
    }
}

impl Kernel for Product<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        let (width, rows) = (self.layout.width, self.output.rows());
        let rest = self.layout.rest();
        let longest = self.taps.iter().map(Rows::cols).max().unwrap_or(0).max(1);
        let block = (CACHED_ELEMENTS / longest).clamp(4 * tile_of(S::LEVEL)[0], MOST_ROWS);
        for first in (0..rows).step_by(block) {
            let rows = first..rows.min(first + block);
            for p in 0..self.whole.rows() {
                let soon = self.whole.rows_from(p).get(AHEAD..).unwrap_or_default();
                self.panel::<S>(rows.clone(), (self.whole.row(p), soon), width, p * width);
            }
            if rest > 0 {
                let panel = if self.rest.rows() == 1 { self.rest.row(0) } else { &[] };
                let soon = panel.get(AHEAD..).unwrap_or_default();
                self.panel::<S>(rows, (panel, soon), rest, self.whole.rows() * width);
            }
        }
    }
}
