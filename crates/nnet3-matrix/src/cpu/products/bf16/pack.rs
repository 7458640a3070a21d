//! Factors of a product, rounded to pairs in the order in which tiles read them.

use super::pairs::PairSums;
use crate::bf16::{LANES, Line};
use crate::cpu::access::Rows;
use std::ops::Range;

/// Pairs of this many terms.
pub(super) fn pairs_of(terms: usize) -> usize {
    terms.div_ceil(2)
}

/// The elements of a row, at most N, and zeros after them.
#[inline(always)]
fn padded<const N: usize>(row: &[f32]) -> [f32; N] {
    let mut out = [0.0; N];
    out[..row.len()].copy_from_slice(row);
    out
}

/// Rounds `terms` (rows) and `columns` of a matrix. Blocks of sixteen columns are `stride` lines apart; a block has a
/// line for each pair of terms. A last term without a partner gets a zero, and so do missing columns.
#[inline(always)]
pub(super) fn interleave<P: PairSums>(
    to: &mut [Line],
    stride: usize,
    from: Rows<'_>,
    terms: Range<usize>,
    columns: Range<usize>,
) {
    const ZEROS: [f32; LANES] = [0.0; LANES];
    for (pair, term) in terms.clone().step_by(2).enumerate() {
        let first = &from.row(term)[columns.clone()];
        let second = if term + 1 < terms.end { &from.row(term + 1)[columns.clone()] } else { &[] };
        let (whole, rest) = first.as_chunks::<LANES>();
        let (whole_second, rest_second) = second.as_chunks::<LANES>();
        for (block, first) in whole.iter().enumerate() {
            let second = whole_second.get(block).unwrap_or(&ZEROS);
            P::save(P::interleaved(first, second), &mut to[block * stride + pair]);
        }
        if !rest.is_empty() {
            let pairs = P::interleaved(&padded(rest), &padded(rest_second));
            P::save(pairs, &mut to[whole.len() * stride + pair]);
        }
    }
}

/// As [`interleave`] of the transposed matrix: each of `rows` becomes a column.
#[inline(always)]
pub(super) fn transpose<P: PairSums>(
    to: &mut [Line],
    stride: usize,
    from: Rows<'_>,
    rows: Range<usize>,
    terms: Range<usize>,
) {
    for (block, first) in rows.clone().step_by(LANES).enumerate() {
        let count = LANES.min(rows.end - first);
        let pairs = pairs_of(terms.len());
        let to = &mut to[block * stride..][..pairs];
        for (start, to) in (terms.clone()).step_by(2 * LANES).zip(to.chunks_mut(LANES)) {
            let mut lines = [P::load(&Line::ZERO); LANES];
            for i in 0..count {
                let row = &from.row(first + i)[start..terms.end];
                lines[i] = match row.first_chunk() {
                    Some(row) => P::adjacent(row),
                    None => P::adjacent(&padded(row)),
                };
            }
            let lines = P::transposed(lines);
            for i in 0..to.len().min(LANES) {
                P::save(lines[i], &mut to[i]);
            }
        }
    }
}

/// Rounds `terms` of `rows`. Rows are `stride` lines apart; a line has sixteen pairs of one row.
#[inline(always)]
pub(super) fn round_rows<P: PairSums>(
    to: &mut [Line],
    stride: usize,
    from: Rows<'_>,
    rows: Range<usize>,
    terms: Range<usize>,
) {
    for (i, to) in rows.zip(to.chunks_mut(stride)) {
        round_row::<P>(to, &from.row(i)[terms.clone()]);
    }
}

/// Rounds a row, whose lines come one after the other.
#[inline(always)]
pub(super) fn round_row<P: PairSums>(to: &mut [Line], row: &[f32]) {
    let (whole, rest) = row.as_chunks::<{ 2 * LANES }>();
    for (terms, to) in whole.iter().zip(&mut *to) {
        P::save(P::adjacent(terms), to);
    }
    if !rest.is_empty() {
        P::save(P::adjacent(&padded(rest)), &mut to[whole.len()]);
    }
}
