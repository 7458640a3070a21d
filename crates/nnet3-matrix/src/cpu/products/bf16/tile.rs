//! Sums of a tile in registers: some rows by some lines of columns.

#![allow(unsafe_code)]

use super::pairs::PairSums;
use crate::bf16::{LANES, Line};

/// Rows of a tile, at most, and lines of columns: as many sums as registers.
pub(super) const TALL: usize = 8;
pub(super) const WIDE: usize = 3;

/// Number of cache lines by which the prefetch of columns is ahead.
const AHEAD: usize = 64;

/// M rows of a factor.
pub(super) trait Left<const M: usize> {
    /// Their pairs of terms `k`.
    fn at(&self, k: usize) -> [u32; M];
}

/// Rows, each with its pairs side by side.
pub(super) struct ByRow<'a, const M: usize>([&'a [u32]; M]);

impl<'a, const M: usize> ByRow<'a, M> {
    /// The first rows of `lines`, which are `stride` lines apart and have this many pairs.
    #[inline(always)]
    pub fn new(lines: &'a [Line], stride: usize, pairs: usize) -> Self {
        let mut rows: [&[u32]; M] = [&[]; M];
        for i in 0..M {
            rows[i] = &flat(&lines[i * stride..][..pairs.div_ceil(LANES)])[..pairs];
        }
        ByRow(rows)
    }
}

impl<const M: usize> Left<M> for ByRow<'_, M> {
    #[inline(always)]
    fn at(&self, k: usize) -> [u32; M] {
        let mut out = [0; M];
        for i in 0..M {
            out[i] = self.0[i][k];
        }
        out
    }
}

/// Rows of a transposed factor, in lines of sixteen rows: the pairs from the first of the M rows on.
pub(super) struct InLines<'a>(&'a [u32]);

impl<'a> InLines<'a> {
    /// The rows of lines from `first` on.
    #[inline(always)]
    pub fn new(lines: &'a [Line], first: usize) -> Self {
        InLines(&flat(lines)[first..])
    }
}

impl<const M: usize> Left<M> for InLines<'_> {
    #[inline(always)]
    fn at(&self, k: usize) -> [u32; M] {
        let part = &self.0[k * LANES..k * LANES + M];
        let mut out = [0; M];
        out.copy_from_slice(part);
        out
    }
}

/// Multiplies M rows with V lines of columns, and calls `write` with the numbers of a row and of a line, and the sums. With
/// `FAR` the columns are not in a cache.
#[inline(always)]
pub(super) fn multiply<P: PairSums, const M: usize, const V: usize, const FAR: bool>(
    rows: impl Left<M>,
    columns: [&[Line]; V],
    mut write: impl FnMut(usize, usize, [f32; LANES]),
) {
    // These stay in registers only if they do not leave the function.
    let mut sums = [[P::zero(); V]; M];
    for k in 0..columns[0].len() {
        let mut pairs = [P::load(&columns[0][k]); V];
        for v in 0..V {
            if FAR {
                P::prefetch_line(columns[v].as_ptr().wrapping_add(k + AHEAD));
            }
            pairs[v] = P::load(&columns[v][k]);
        }
        let row = rows.at(k);
        for i in 0..M {
            for v in 0..V {
                sums[i][v] = sums[i][v].add(row[i], pairs[v]);
            }
        }
    }
    for i in 0..M {
        for v in 0..V {
            write(i, v, sums[i][v].store());
        }
    }
}

/// The pairs of lines.
fn flat(lines: &[Line]) -> &[u32] {
    // SAFETY: a line is sixteen pairs without padding.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), lines.len() * LANES) }
}
