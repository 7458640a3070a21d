//! Products in tiles of registers, from blocks of both factors that stay in caches.
//!
//! Blocks of rows (terms) and columns of op(b) are copied into panels of adjacent columns. A tile, some rows of the
//! result by one panel, is summed in registers over the terms of the block. If a is not transposed, it is read in
//! place. Otherwise it is copied, block by block, with the factors of a tile side by side.

use super::gemm::{has_own_roundings, is_small};
use super::prefetch::Prefetch;
use crate::backend::Gemm;
use crate::cpu::access::{Rows, RowsMut, split};
use crate::cpu::blas;
use kaldi_simd::{self as simd, Kernel, Simd, Vector, VectorLevel};
use std::cell::RefCell;
use std::ops::Range;

const LANES: usize = 16;

/// Rows of a tile (fewer at the end) and columns of a panel: as many sums as registers.
const WIDE_TILE: [usize; 2] = [8, 3 * LANES];
/// The tile without AVX-512: half as many registers of half the size.
const NARROW_TILE: [usize; 2] = [6, LANES];

/// With at most this many rows, panels are used too seldom to be worth much work.
const FEW_ROWS: usize = 128;
/// With few rows and at least this many elements of b, BLAS waits for memory.
const LEAST_ELEMENTS: usize = 1 << 17;
/// Elements of the panels up to which small products are summed in one go.
const MOST_IN_ONE_GO: usize = 1 << 17;
/// Number of rows by which the prefetch is ahead of the copy.
const AHEAD: usize = 4;

/// Sizes of the blocks that are rearranged at a time: the fastest in trials (second-level cache of 2 MB).
#[derive(Clone, Copy)]
struct Blocks {
    rows: usize,
    terms: usize,
    columns: usize,
}

impl Blocks {
    fn of(m: usize, n: usize, k: usize, transposed_a: bool) -> Blocks {
        let (rows, terms, panels) = match (m <= FEW_ROWS, transposed_a) {
            // The panels are used once.
            (true, _) => (FEW_ROWS, 128, 22),
            (false, false) => (128, 512, 8),
            (false, true) => (256, 384, 16),
        };
        let columns = (panels * WIDE_TILE[1]).min(n.next_multiple_of(LANES));
        let terms = if is_small(m, n, k) && k * columns <= MOST_IN_ONE_GO { k } else { terms };
        Blocks { rows: rows.min(m), terms: terms.min(k), columns }
    }

    /// Elements of the rearranged factors.
    fn sizes(self) -> [usize; 2] {
        [self.rows * self.terms, self.terms * self.columns]
    }
}

/// True if [`product`] is faster than BLAS for m rows, n columns and k terms.
pub(in crate::cpu) fn pays(
    (m, n, k): (usize, usize, usize),
    [transposed_a, transposed_b]: [bool; 2],
) -> bool {
    if has_own_roundings(m, n, k) {
        return true;
    }
    let [tall, width] = WIDE_TILE;
    if simd::vector_level() != VectorLevel::Avx512 || m < tall || n.min(k) < LANES {
        return false;
    }
    let few_rows = m <= FEW_ROWS && n >= width && n * k >= LEAST_ELEMENTS;
    !blas::is_wide() || (few_rows && !transposed_a && !transposed_b)
}

/// A matrix, or its transpose.
#[derive(Clone, Copy)]
struct Factor<'a> {
    lying: Rows<'a>,
    transposed: bool,
}

impl<'a> Factor<'a> {
    /// A prefetch of these rows and columns.
    fn prefetch(&self, rows: Range<usize>, columns: Range<usize>) -> Prefetch<'a> {
        match self.transposed {
            false => Prefetch::new(self.lying, rows, columns),
            true => Prefetch::new(self.lying, columns, rows),
        }
    }
}

/// c = alpha · op(a) · op(b) + beta · c.
struct Product<'a> {
    c: RowsMut<'a>,
    alpha: f32,
    a: Factor<'a>,
    b: Factor<'a>,
    beta: f32,
    terms: usize,
    blocks: Blocks,
    /// A block of a transposed a, as [`pack_columns`] leaves it.
    rows: &'a mut [f32],
    /// Panels, one after the other; a panel has its columns of each term side by side.
    panels: &'a mut [f32],
}

/// `to[j · stride + i] = from[rows.start + i][columns.start + j]`, padded to whole lanes of i with zeros if the stride
/// has room.
#[inline(always)]
pub(in crate::cpu) fn transpose<S: Simd>(
    to: &mut [f32],
    stride: usize,
    from: Rows<'_>,
    rows: Range<usize>,
    columns: Range<usize>,
) {
    for i in rows.clone().step_by(LANES) {
        let count = (rows.end - i).min(LANES);
        for j in columns.clone().step_by(LANES) {
            let width = (columns.end - j).min(LANES);
            let mut block = [S::V::splat(0.0); LANES];
            for (k, line) in block.iter_mut().enumerate().take(count) {
                let row = &from.row(i + k)[j..j + width];
                *line = if width == LANES { S::V::load(row) } else { S::V::load_part(row, 0.0) };
            }
            let block = S::V::transposed(block);
            let start = (j - columns.start) * stride + i - rows.start;
            let room = (stride - (i - rows.start)).min(LANES);
            for (k, line) in block.into_iter().enumerate().take(width) {
                let to = &mut to[start + k * stride..][..room];
                if room == LANES { line.store(to) } else { line.store_part(to) }
            }
        }
    }
}

/// Copies `rows` and `columns` of a matrix to groups of columns, one for each tile: M columns while as many remain,
/// then 4, 2 and 1. Each group has its columns of a row side by side.
#[inline(always)]
fn pack_columns<S: Simd, const M: usize>(
    to: &mut [f32],
    from: Rows<'_>,
    rows: Range<usize>,
    columns: Range<usize>,
) {
    let count = rows.len();
    for (k, i) in rows.enumerate() {
        let soon = &from.row((i + AHEAD).min(from.rows() - 1))[columns.clone()];
        soon.iter().step_by(LANES).for_each(S::prefetch_first);
        let row = &from.row(i)[columns.clone()];
        let (whole, mut rest) = row.as_chunks::<M>();
        for (p, group) in whole.iter().enumerate() {
            to[M * (p * count + k)..][..M].copy_from_slice(group);
        }
        let mut start = M * whole.len() * count;
        for width in [4, 2, 1] {
            if let Some((group, others)) = rest.split_at_checked(width) {
                to[start + width * k..][..width].copy_from_slice(group);
                (start, rest) = (start + width * count, others);
            }
        }
    }
}

/// M rows of op(a).
trait Left<const M: usize> {
    /// Their factors of term `k`.
    fn at(&self, k: usize) -> [f32; M];
}

/// Rows of a, in place.
struct Lying<'a, const M: usize>([&'a [f32]; M]);

impl<const M: usize> Left<M> for Lying<'_, M> {
    #[inline(always)]
    fn at(&self, k: usize) -> [f32; M] {
        let mut out = [0.0; M];
        for i in 0..M {
            out[i] = self.0[i][k];
        }
        out
    }
}

/// A group of [`pack_columns`].
struct Group<'a, const M: usize>(&'a [[f32; M]]);

impl<const M: usize> Left<M> for Group<'_, M> {
    #[inline(always)]
    fn at(&self, k: usize) -> [f32; M] {
        self.0[k]
    }
}

/// A range of rows and a range of terms of a product.
struct Block {
    rows: Range<usize>,
    terms: Range<usize>,
}

/// Rows of c from `row` on, some columns, and the panel of op(b) for these.
struct Tile<'p> {
    row: usize,
    columns: Range<usize>,
    panel: &'p [f32],
    factors: [f32; 2],
}

impl Tile<'_> {
    /// M rows with V · 16 columns: c = alpha · a · panel + beta · c.
    #[inline(always)]
    fn run<S: Simd, const M: usize, const V: usize>(&self, c: &mut RowsMut<'_>, a: impl Left<M>) {
        for i in 0..M {
            for part in c.row(self.row + i)[self.columns.clone()].chunks(LANES) {
                S::prefetch_first(&part[0]);
            }
        }
        let mut sums = [[S::V::splat(0.0); V]; M];
        for (k, b) in self.panel.chunks_exact(V * LANES).enumerate() {
            let mut columns = [S::V::splat(0.0); V];
            for v in 0..V {
                columns[v] = S::V::load(&b[v * LANES..(v + 1) * LANES]);
            }
            let factors = a.at(k);
            for i in 0..M {
                let factor = S::V::splat(factors[i]);
                for v in 0..V {
                    sums[i][v] = factor.mul_add(columns[v], sums[i][v]);
                }
            }
        }
        let [alpha, beta] = self.factors;
        for i in 0..M {
            let out = &mut c.row(self.row + i)[self.columns.clone()];
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
}

impl<'a> Product<'a> {
    /// Copies these terms and columns of op(b) into panels of W columns.
    #[inline(always)]
    fn pack<S: Simd, const W: usize>(&mut self, terms: Range<usize>, columns: Range<usize>) {
        let (count, b) = (terms.len(), self.b.lying);
        if self.b.transposed {
            for (p, panel) in ranges(columns.len(), W).enumerate() {
                let width = panel.len().next_multiple_of(LANES);
                let to = &mut self.panels[p * count * W..][..count * width];
                let rows = columns.start + panel.start..columns.start + panel.end;
                transpose::<S>(to, width, b, rows, terms.clone());
            }
            return;
        }
        for (k, term) in terms.enumerate() {
            let row = &b.row(term)[columns.clone()];
            let (parts, rest) = row.as_chunks::<W>();
            for (p, part) in parts.iter().enumerate() {
                self.panels[(p * count + k) * W..][..W].copy_from_slice(part);
            }
            let width = rest.len().next_multiple_of(LANES);
            let to = &mut self.panels[parts.len() * count * W + k * width..][..width];
            to[..rest.len()].copy_from_slice(rest);
            to[rest.len()..].fill(0.0);
        }
    }

    /// The block that is packed after these terms of these columns.
    fn next_block(&self, terms: &Range<usize>, columns: &Range<usize>) -> Prefetch<'a> {
        match terms.end < self.terms {
            true => self.b.prefetch(terms.end..terms.end + self.blocks.terms, columns.clone()),
            false => self.b.prefetch(0..self.blocks.terms, columns.end..columns.end + self.blocks.columns),
        }
    }

    /// Computes tiles of M rows while as many rows remain in the block.
    #[inline(always)]
    fn tiles<S: Simd, const M: usize, const V: usize>(
        &mut self,
        tile: &mut Tile<'_>,
        block: &Block,
        prefetch: &mut Prefetch<'_>,
        lines: usize,
    ) {
        let count = block.terms.len();
        while tile.row + M <= block.rows.end {
            prefetch.fetch::<S>(lines);
            if self.a.transposed {
                let group = &self.rows[(tile.row - block.rows.start) * count..][..M * count];
                tile.run::<S, M, V>(&mut self.c, Group(group.as_chunks::<M>().0));
            } else {
                let mut rows: [&[f32]; M] = [&[]; M];
                for i in 0..M {
                    rows[i] = &self.a.lying.row(tile.row + i)[block.terms.clone()][..count];
                }
                tile.run::<S, M, V>(&mut self.c, Lying(rows));
            }
            tile.row += M;
        }
    }

    /// Multiplies all rows of a block with the panel at `start`: in tiles of M rows while as many remain, then in lower
    /// ones.
    #[inline(always)]
    fn panel<S: Simd, const M: usize, const V: usize>(
        &mut self,
        columns: Range<usize>,
        block: &Block,
        start: usize,
        prefetch: &mut Prefetch<'_>,
        lines: usize,
    ) {
        let panels = std::mem::take(&mut self.panels);
        let mut tile = Tile {
            row: block.rows.start,
            columns,
            panel: &panels[start..][..block.terms.len() * V * LANES],
            factors: [self.alpha, if block.terms.start == 0 { self.beta } else { 1.0 }],
        };
        self.tiles::<S, M, V>(&mut tile, block, prefetch, lines);
        self.tiles::<S, 4, V>(&mut tile, block, prefetch, lines);
        self.tiles::<S, 2, V>(&mut tile, block, prefetch, lines);
        self.tiles::<S, 1, V>(&mut tile, block, prefetch, lines);
        self.panels = panels;
    }

    /// Computes the product in tiles of M rows and W columns.
    #[inline(always)]
    fn run<S: Simd, const M: usize, const W: usize>(&mut self) {
        for columns in ranges(self.c.cols(), self.blocks.columns) {
            for terms in ranges(self.terms, self.blocks.terms) {
                self.pack::<S, W>(terms.clone(), columns.clone());
                let mut prefetch = self.next_block(&terms, &columns);
                let tiles = columns.len().div_ceil(W) * (self.c.rows() / M).max(1);
                let lines = prefetch.lines().div_ceil(tiles);
                for rows in ranges(self.c.rows(), self.blocks.rows) {
                    let block = Block { rows, terms: terms.clone() };
                    if self.a.transposed {
                        pack_columns::<S, M>(self.rows, self.a.lying, terms.clone(), block.rows.clone());
                    }
                    for (p, panel) in ranges(columns.len(), W).enumerate() {
                        let start = p * terms.len() * W;
                        let of_c = columns.start + panel.start..columns.start + panel.end;
                        match panel.len().div_ceil(LANES).min(W / LANES) {
                            1 => self.panel::<S, M, 1>(of_c, &block, start, &mut prefetch, lines),
                            2 => self.panel::<S, M, 2>(of_c, &block, start, &mut prefetch, lines),
                            _ => self.panel::<S, M, 3>(of_c, &block, start, &mut prefetch, lines),
                        }
                    }
                }
            }
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
        match S::LEVEL {
            VectorLevel::Avx512 => Product::run::<S, { WIDE_TILE[0] }, { WIDE_TILE[1] }>(&mut self),
            VectorLevel::Avx2 | VectorLevel::Portable => {
                Product::run::<S, { NARROW_TILE[0] }, { NARROW_TILE[1] }>(&mut self)
            }
        }
    }
}

/// The first elements of a vector, from the start of a cache line.
fn aligned(values: &mut Vec<f32>, len: usize) -> &mut [f32] {
    if values.len() < len + LANES {
        values.resize(len + LANES, 0.0);
    }
    let first = values.as_ptr().align_offset(64).min(LANES);
    &mut values[first..][..len]
}

/// Computes the product. c overlaps neither factor.
pub(in crate::cpu) fn product(Gemm { c, alpha, a, b, beta }: Gemm<'_>) {
    thread_local! {
        static BUFFERS: RefCell<[Vec<f32>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
    }
    let (_, terms) = a.shape();
    let transposed = [a, b].map(|factor| factor.is_transposed());
    let (c, [a, b]) = split(c, [a.matrix, b.matrix]);
    let (a, b) =
        (Factor { lying: a, transposed: transposed[0] }, Factor { lying: b, transposed: transposed[1] });
    let blocks = Blocks::of(c.rows(), c.cols(), terms, a.transposed);
    BUFFERS.with_borrow_mut(|[rows, panels]| {
        let [in_rows, in_panels] = blocks.sizes();
        let (rows, panels) = (aligned(rows, in_rows), aligned(panels, in_panels));
        simd::run(Product { c, alpha, a, b, beta, terms, blocks, rows, panels })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Transpose;
    use crate::cpu::products::gemm::tests::check;

    #[test]
    fn agrees_with_sums_in_double_precision() {
        use Transpose::{No, Yes};
        // Also more rows, terms and columns than a block has, of either kind of a.
        let shapes = [
            (1, 5, 3),
            (8, 48, 16),
            (13, 61, 128),
            (23, 100, 300),
            (9, 1103, 130),
            (275, 70, 530),
            (131, 410, 65),
            (140, 800, 20),
        ];
        for shape in shapes {
            for transposes in [(No, No), (No, Yes), (Yes, No), (Yes, Yes)] {
                check(shape, transposes, product);
            }
        }
    }

    #[test]
    fn transposes() {
        let (rows, cols) = (37, 21);
        let from = crate::Matrix::from_vec(rows, cols, (0..rows * cols).map(|k| k as f32).collect());
        let mut to = vec![-1.0; 17 * 32];
        struct Run<'a>(&'a mut [f32], Rows<'a>);
        impl Kernel for Run<'_> {
            type Output = ();
            #[inline(always)]
            fn run<S: Simd>(self) {
                transpose::<S>(self.0, 32, self.1, 8..37, 4..21);
            }
        }
        simd::run(Run(&mut to, crate::cpu::access::source(from.view())));
        for j in 0..17 {
            for i in 0..32 {
                let expected = if i < 29 { ((8 + i) * cols + 4 + j) as f32 } else { 0.0 };
                assert_eq!(to[j * 32 + i], expected, "{i} {j}");
            }
        }
    }
}
