//! Products a · b of few rows with a large matrix, as in the backward pass of recurrent networks.
//!
//! BLAS rearranges both factors, and goes over them in blocks that suit large products. Here some columns of b at a time
//! are copied side by side, so that each element is read from memory once, and a is read as it lies.

use super::access::{Rows, RowsMut, split};
use super::ahead::Ahead;
use super::simd::{self, Kernel, Simd, VectorLevel};
use super::vector::Vector;
use crate::view::{View, ViewMut};
use std::cell::RefCell;
use std::ops::Range;

/// Rows up to which this is faster than BLAS.
const MOST_ROWS: usize = 128;
/// Elements of b from which on BLAS waits for memory.
const LEAST_ELEMENTS: usize = 1 << 17;

const LANES: usize = 16;
/// Columns of a panel: with eight rows, as many sums as there are registers for.
const WIDTH: usize = 3 * LANES;
/// Rows and columns of b that are rearranged at a time: half a megabyte.
const TERMS: usize = 128;
const COLUMNS: usize = 22 * WIDTH;

/// Whether [`product`] is faster than BLAS for m rows, n columns and k terms.
pub(super) fn pays(m: usize, n: usize, k: usize) -> bool {
    simd::vector_level() == VectorLevel::Avx512
        && (8..=MOST_ROWS).contains(&m)
        && n >= WIDTH
        && k >= LANES
        && n * k >= LEAST_ELEMENTS
}

/// c = alpha · a · b + beta · c.
struct Product<'a> {
    c: RowsMut<'a>,
    alpha: f32,
    a: Rows<'a>,
    b: Rows<'a>,
    beta: f32,
    /// Panels, one after the other; a panel has its columns of each row side by side.
    panels: &'a mut [f32],
}

/// Rows of the destination from `row` on, and its columns in a panel.
struct Tile<'p> {
    row: usize,
    columns: Range<usize>,
    terms: Range<usize>,
    panel: &'p [f32],
}

impl<'a> Product<'a> {
    /// Copies these rows and columns of b into panels.
    #[inline(always)]
    fn pack(&mut self, terms: Range<usize>, columns: Range<usize>) {
        let count = terms.len();
        for (k, term) in terms.enumerate() {
            let row = &self.b.row(term)[columns.clone()];
            let (parts, rest) = row.as_chunks::<WIDTH>();
            for (p, part) in parts.iter().enumerate() {
                self.panels[(p * count + k) * WIDTH..][..WIDTH].copy_from_slice(part);
            }
            let width = rest.len().next_multiple_of(LANES);
            let to = &mut self.panels[parts.len() * count * WIDTH + k * width..][..width];
            to[..rest.len()].copy_from_slice(rest);
            to[rest.len()..].fill(0.0);
        }
    }

    /// What is packed after these terms of these columns.
    fn next_block(&self, terms: &Range<usize>, columns: &Range<usize>) -> Ahead<'a> {
        match terms.end < self.b.rows() {
            true => Ahead::new(self.b, terms.end..terms.end + TERMS, columns.clone()),
            false => Ahead::new(self.b, 0..TERMS, columns.end..columns.end + COLUMNS),
        }
    }

    /// M rows with V · 16 columns.
    #[inline(always)]
    fn tile<S: Simd, const M: usize, const V: usize>(
        c: &mut RowsMut<'_>,
        factors: [f32; 2],
        a: Rows<'_>,
        tile: &Tile<'_>,
    ) {
        let count = tile.terms.len();
        let mut rows: [&[f32]; M] = [&[]; M];
        for i in 0..M {
            rows[i] = &a.row(tile.row + i)[tile.terms.clone()][..count];
        }
        let mut sums = [[S::V::splat(0.0); V]; M];
        for (k, b) in tile.panel.chunks_exact(V * LANES).take(count).enumerate() {
            let mut columns = [S::V::splat(0.0); V];
            for v in 0..V {
                columns[v] = S::V::load(&b[v * LANES..(v + 1) * LANES]);
            }
            for i in 0..M {
                let factor = S::V::splat(rows[i][k]);
                for v in 0..V {
                    sums[i][v] = factor.mul_add(columns[v], sums[i][v]);
                }
            }
        }
        let [alpha, beta] = factors;
        for i in 0..M {
            let out = &mut c.row(tile.row + i)[tile.columns.clone()];
            for (part, sum) in out.chunks_mut(LANES).zip(sums[i]) {
                let mut sum = sum.mul(S::V::splat(alpha));
                if part.len() == LANES {
                    if beta != 0.0 {
                        sum = S::V::load(part).mul_add(S::V::splat(beta), sum);
                    }
                    sum.store(part);
                } else {
                    if beta != 0.0 {
                        sum = S::V::load_part(part, 0.0).mul_add(S::V::splat(beta), sum);
                    }
                    sum.store_part(part);
                }
            }
        }
    }

    /// All rows with the columns of a panel.
    #[inline(always)]
    fn panel<S: Simd, const V: usize>(
        &mut self,
        columns: Range<usize>,
        terms: Range<usize>,
        start: usize,
        ahead: &mut Ahead<'_>,
        lines: usize,
    ) {
        let beta = if terms.start == 0 { self.beta } else { 1.0 };
        let panel = &self.panels[start..][..terms.len() * V * LANES];
        let mut tile = Tile { row: 0, columns, terms, panel };
        let rows = self.c.rows();
        while tile.row + 8 <= rows {
            ahead.fetch::<S>(lines);
            Self::tile::<S, 8, V>(&mut self.c, [self.alpha, beta], self.a, &tile);
            tile.row += 8;
        }
        while tile.row + 4 <= rows {
            Self::tile::<S, 4, V>(&mut self.c, [self.alpha, beta], self.a, &tile);
            tile.row += 4;
        }
        while tile.row < rows {
            Self::tile::<S, 1, V>(&mut self.c, [self.alpha, beta], self.a, &tile);
            tile.row += 1;
        }
    }
}

/// 0..n in ranges of `step`.
fn ranges(n: usize, step: usize) -> impl Iterator<Item = Range<usize>> {
    (0..n).step_by(step).map(move |start| start..n.min(start + step))
}

impl Kernel for Product<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        for columns in ranges(self.c.cols(), COLUMNS) {
            for terms in ranges(self.b.rows(), TERMS) {
                self.pack(terms.clone(), columns.clone());
                let mut ahead = self.next_block(&terms, &columns);
                let tiles = columns.len().div_ceil(WIDTH) * (self.c.rows() / 8).max(1);
                let lines = ahead.lines().div_ceil(tiles);
                for (p, panel) in ranges(columns.len(), WIDTH).enumerate() {
                    let start = p * terms.len() * WIDTH;
                    let of_c = columns.start + panel.start..columns.start + panel.end;
                    match panel.len().div_ceil(LANES) {
                        1 => self.panel::<S, 1>(of_c, terms.clone(), start, &mut ahead, lines),
                        2 => self.panel::<S, 2>(of_c, terms.clone(), start, &mut ahead, lines),
                        _ => self.panel::<S, 3>(of_c, terms.clone(), start, &mut ahead, lines),
                    }
                }
            }
        }
    }
}

/// c = alpha · a · b + beta · c; c overlaps neither factor.
pub(super) fn product(c: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>, beta: f32) {
    thread_local! {
        static PANELS: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
    }
    let (c, [a, b]) = split(c, [a, b]);
    PANELS.with_borrow_mut(|panels| {
        panels.resize(TERMS * COLUMNS + LANES, 0.0);
        let first = panels.as_ptr().align_offset(64).min(LANES);
        simd::run(Product { c, alpha, a, b, beta, panels: &mut panels[first..] })
    })
}

#[cfg(test)]
mod tests {
    use super::super::gemm::tests::check;
    use super::*;
    use crate::backend::Transpose;

    #[test]
    fn agrees_with_sums_in_double_precision() {
        for shape in [(1, 5, 3), (8, 48, 16), (13, 61, 128), (23, 100, 300), (9, 1103, 130)] {
            check(shape, Transpose::No, product);
        }
    }
}
