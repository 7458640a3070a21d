//! Products with weights that were rounded beforehand. Each element is summed term by term, so that it does not depend
//! on the number of rows.

#![allow(unsafe_code)]

use super::pairs::{PairSums, Plain};
use super::tile::{ByRow, TALL, WIDE, multiply};
use super::{Kernel, pack, stride};
use crate::bf16::{HalfWeights, LANES, Line};
use crate::cpu::access::{Rows, RowsMut};
use crate::cpu::begin::Begin;
use pack::pairs_of;
use std::cell::RefCell;
use std::ops::Range;

/// Largest number of rows that are rounded at a time. It is less if so many elements would not stay in a second-level
/// cache.
const MOST_ROWS: usize = 128;
const CACHED_ELEMENTS: usize = 1 << 17;

/// Rounds weights, a row for each output.
pub(in crate::cpu) fn round_weights(kernel: Kernel, weights: Rows<'_>) -> HalfWeights {
    let pairs = pairs_of(weights.cols());
    let mut lines = vec![Line::ZERO; weights.rows().div_ceil(LANES) * pairs];
    match kernel {
        // SAFETY: the kernel exists only if the processor has the instructions.
        #[cfg(target_arch = "x86_64")]
        Kernel::Avx512(_) => unsafe { round_avx512(&mut lines, pairs, weights) },
        Kernel::Plain => round::<Plain>(&mut lines, pairs, weights),
    }
    HalfWeights { lines, pairs, kernel }
}

#[inline(always)]
fn round<P: PairSums>(lines: &mut [Line], pairs: usize, weights: Rows<'_>) {
    pack::transpose::<P>(lines, pairs, weights, 0..weights.rows(), 0..weights.cols());
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")]
fn round_avx512(lines: &mut [Line], pairs: usize, weights: Rows<'_>) {
    round::<super::pairs::x86::Avx512>(lines, pairs, weights)
}

/// output = start + Σ taps · weights, for the weights from term `first` on.
pub(in crate::cpu) struct Rounded<'a, 'o> {
    pub output: &'a mut RowsMut<'o>,
    pub start: Begin<'a>,
    pub taps: &'a [Rows<'a>],
    pub weights: &'a HalfWeights,
    pub first: usize,
}

/// A row of all taps in floats, and rounded rows.
#[derive(Default)]
struct Buffers {
    row: Vec<f32>,
    rows: Vec<Line>,
}

impl Rounded<'_, '_> {
    pub fn run(self) {
        thread_local! {
            static BUFFERS: RefCell<Buffers> = RefCell::default();
        }
        BUFFERS.with_borrow_mut(|buffers| match self.weights.kernel {
            // SAFETY: the kernel exists only if the processor has the instructions.
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512(_) => unsafe { run_avx512(self, buffers) },
            Kernel::Plain => self.run_with::<Plain>(buffers),
        })
    }

    /// Terms of a row, with a zero before them if they begin with the second of a pair.
    fn terms(&self) -> usize {
        self.first % 2 + self.taps.iter().map(Rows::cols).sum::<usize>()
    }

    #[inline(always)]
    fn run_with<P: PairSums>(mut self, buffers: &mut Buffers) {
        let (terms, count) = (self.terms(), self.output.rows());
        let pairs = pairs_of(terms);
        let stride = stride(pairs.div_ceil(LANES));
        let most = (CACHED_ELEMENTS / terms.max(1)).clamp(2 * TALL, MOST_ROWS);
        for start in (0..count).step_by(most) {
            let rows = start..count.min(start + most);
            buffers.rows.resize((rows.len() * stride).max(buffers.rows.len()), Line::ZERO);
            self.round::<P>(buffers, stride, rows.clone());
            let (blocks, mut block) = (self.output.cols().div_ceil(LANES), 0);
            while block < blocks {
                block += match blocks - block {
                    1 => self.blocks::<P, 1>(&buffers.rows, stride, rows.clone(), block),
                    2 | 4 => self.blocks::<P, 2>(&buffers.rows, stride, rows.clone(), block),
                    _ => self.blocks::<P, WIDE>(&buffers.rows, stride, rows.clone(), block),
                };
            }
        }
    }

    /// Rounds these rows of all taps.
    #[inline(always)]
    fn round<P: PairSums>(&self, buffers: &mut Buffers, stride: usize, rows: Range<usize>) {
        let lead = self.first % 2;
        // Each tap but the last one fills lines.
        let before = self.taps.split_last().map_or(self.taps, |(_, before)| before);
        if lead == 0 && before.iter().all(|tap| tap.cols().is_multiple_of(2 * LANES)) {
            for (row, to) in rows.zip(buffers.rows.chunks_mut(stride)) {
                let mut line = 0;
                for tap in self.taps {
                    pack::round_row::<P>(&mut to[line..], tap.row(row));
                    line += tap.cols() / (2 * LANES);
                }
            }
            return;
        }
        for (row, to) in rows.zip(buffers.rows.chunks_mut(stride)) {
            buffers.row.clear();
            buffers.row.resize(lead, 0.0);
            self.taps.iter().for_each(|tap| buffers.row.extend_from_slice(tap.row(row)));
            pack::round_row::<P>(to, &buffers.row);
        }
    }

    /// These rows with V blocks, in tiles of about equal height. Returns V.
    #[inline(always)]
    fn blocks<P: PairSums, const V: usize>(
        &mut self,
        lines: &[Line],
        stride: usize,
        rows: Range<usize>,
        block: usize,
    ) -> usize {
        let pairs = pairs_of(self.terms());
        let mut columns: [&[Line]; V] = [&[]; V];
        for v in 0..V {
            columns[v] = &self.weights.lines[(block + v) * self.weights.pairs + self.first / 2..][..pairs];
        }
        let tiles = rows.len().div_ceil(TALL);
        let mut row = rows.start;
        for t in 0..tiles {
            let height = (rows.end - row).div_ceil(tiles - t);
            let lines = &lines[(row - rows.start) * stride..];
            // The first tile brings the weights into a cache.
            match (height, t == 0) {
                (1, _) => self.tile::<P, 1, V, true>(lines, stride, row, block, columns),
                (2, _) => self.tile::<P, 2, V, true>(lines, stride, row, block, columns),
                (3, _) => self.tile::<P, 3, V, true>(lines, stride, row, block, columns),
                (4, _) => self.tile::<P, 4, V, true>(lines, stride, row, block, columns),
                (5, true) => self.tile::<P, 5, V, true>(lines, stride, row, block, columns),
                (5, false) => self.tile::<P, 5, V, false>(lines, stride, row, block, columns),
                (6, true) => self.tile::<P, 6, V, true>(lines, stride, row, block, columns),
                (6, false) => self.tile::<P, 6, V, false>(lines, stride, row, block, columns),
                (7, true) => self.tile::<P, 7, V, true>(lines, stride, row, block, columns),
                (7, false) => self.tile::<P, 7, V, false>(lines, stride, row, block, columns),
                (_, true) => self.tile::<P, TALL, V, true>(lines, stride, row, block, columns),
                (_, false) => self.tile::<P, TALL, V, false>(lines, stride, row, block, columns),
            }
            row += height;
        }
        V
    }

    #[inline(always)]
    fn tile<P: PairSums, const M: usize, const V: usize, const FAR: bool>(
        &mut self,
        lines: &[Line],
        stride: usize,
        row: usize,
        block: usize,
        columns: [&[Line]; V],
    ) {
        for i in 0..M {
            for part in self.output.row(row + i)[block * LANES..].chunks(LANES).take(V) {
                P::prefetch(&part[0]);
            }
        }
        let rows = ByRow::new(lines, stride, columns[0].len());
        multiply::<P, M, V, FAR>(rows, columns, |i, v, sums| {
            let (out, first) = (self.output.row(row + i), (block + v) * LANES);
            let last = out.len().min(first + LANES);
            let to = &mut out[first..last];
            match self.start {
                Begin::Zero => to.iter_mut().zip(sums).for_each(|(to, sum)| *to = sum),
                Begin::Output => to.iter_mut().zip(sums).for_each(|(to, sum)| *to += sum),
                Begin::Row(start) => {
                    let start = &start[first..last];
                    to.iter_mut().zip(start).zip(sums).for_each(|((to, start), sum)| *to = start + sum)
                }
            }
        });
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")]
fn run_avx512(product: Rounded<'_, '_>, buffers: &mut Buffers) {
    product.run_with::<super::pairs::x86::Avx512>(buffers)
}
