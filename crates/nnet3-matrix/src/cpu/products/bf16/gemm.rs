//! Products of two matrices.
//!
//! A block of op(b) (terms and columns) is rounded to pairs of terms, in lines of sixteen columns. A block of op(a) is
//! rounded row by row, or in lines of sixteen rows if a is transposed. Tiles are summed over the terms of the block.

#![allow(unsafe_code)]

use super::pairs::{PairSums, Plain};
use super::tile::{ByRow, InLines, Left, TALL, WIDE, multiply};
use super::{Kernel, pack, stride};
use crate::backend::Gemm;
use crate::bf16::{LANES, Line};
use crate::cpu::access::{Rows, RowsMut, split};
use pack::pairs_of;
use std::cell::RefCell;
use std::ops::Range;

/// Smallest product that is faster in bf16: with fewer rows, columns or terms rounding takes too large a part.
const LEAST_ROWS: usize = 16;
const LEAST_COLUMNS: usize = 16;
const LEAST_TERMS: usize = 32;
const LEAST_MULTIPLICATIONS: usize = 1 << 17;

/// True if [`product`] is faster than floats for m rows, n columns and k terms.
pub(in crate::cpu) fn pays(m: usize, n: usize, k: usize) -> bool {
    m >= LEAST_ROWS && n >= LEAST_COLUMNS && k >= LEAST_TERMS && m * n * k >= LEAST_MULTIPLICATIONS
}

/// Sizes of the blocks that are rounded at a time, in elements: the fastest in trials (caches of 32 KB and 1 MB).
#[derive(Clone, Copy)]
struct Blocks {
    rows: usize,
    terms: usize,
    columns: usize,
}

/// Terms of a block, and elements of a block of op(b).
const TERMS: usize = 512;
const ELEMENTS: usize = 1 << 18;

impl Blocks {
    fn of(m: usize, n: usize, k: usize, transposed_a: bool) -> Blocks {
        let terms = TERMS.min(k.next_multiple_of(2));
        let columns = (ELEMENTS / terms).next_multiple_of(WIDE * LANES);
        let rows = if transposed_a { 256 } else { 64 };
        Blocks {
            rows: rows.min(m.next_multiple_of(LANES)),
            terms,
            columns: columns.min(n.next_multiple_of(LANES)),
        }
    }

    /// Lines of the rounded factors.
    fn sizes(self, transposed_a: bool) -> [usize; 2] {
        let pairs = pairs_of(self.terms);
        let in_lines = |length: usize| length.div_ceil(LANES) * stride(pairs);
        let by_row = self.rows * stride(pairs.div_ceil(LANES));
        [if transposed_a { in_lines(self.rows) } else { by_row }, in_lines(self.columns)]
    }
}

/// A matrix, or its transpose.
#[derive(Clone, Copy)]
struct Factor<'a> {
    lying: Rows<'a>,
    transposed: bool,
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
}

/// The rounded blocks of both factors.
struct Rounded<'r> {
    a: &'r mut [Line],
    b: &'r mut [Line],
}

/// A block of rows and terms, with the rounded factors.
struct Block<'r> {
    rows: Range<usize>,
    pairs: usize,
    a: &'r [Line],
    /// Alpha, and beta for these terms.
    factors: [f32; 2],
}

/// to = alpha · sum + beta · to.
#[inline(always)]
fn write(to: &mut [f32], sum: [f32; LANES], alpha: f32, beta: f32) {
    match to.first_chunk_mut::<LANES>() {
        Some(to) if beta == 0.0 => to.iter_mut().zip(sum).for_each(|(to, sum)| *to = alpha * sum),
        Some(to) => to.iter_mut().zip(sum).for_each(|(to, sum)| *to = alpha * sum + beta * *to),
        None if beta == 0.0 => to.iter_mut().zip(sum).for_each(|(to, sum)| *to = alpha * sum),
        None => to.iter_mut().zip(sum).for_each(|(to, sum)| *to = alpha * sum + beta * *to),
    }
}

/// 0..n in ranges of `step`.
fn ranges(n: usize, step: usize) -> impl Iterator<Item = Range<usize>> {
    (0..n).step_by(step).map(move |start| start..n.min(start + step))
}

impl Product<'_> {
    /// Computes tiles of M rows from `row` on, while as many remain in the block. Returns the next row.
    #[inline(always)]
    fn tiles<P: PairSums, const M: usize, const V: usize>(
        &mut self,
        block: &Block<'_>,
        mut row: usize,
        column: usize,
        columns: [&[Line]; V],
    ) -> usize {
        let Block { rows, pairs, a, factors } = block;
        while row + M <= rows.end {
            let first = row - rows.start;
            if self.a.transposed {
                let lines = &a[first / LANES * stride(*pairs)..][..*pairs];
                self.tile::<P, M, V>(InLines::new(lines, first % LANES), columns, [row, column], factors);
            } else {
                let stride = stride(pairs.div_ceil(LANES));
                let rows = ByRow::new(&a[first * stride..], stride, *pairs);
                self.tile::<P, M, V>(rows, columns, [row, column], factors);
            }
            row += M;
        }
        row
    }

    /// Computes M rows from `row` on, with V lines of columns from `column` on.
    #[inline(always)]
    fn tile<P: PairSums, const M: usize, const V: usize>(
        &mut self,
        rows: impl Left<M>,
        columns: [&[Line]; V],
        [row, column]: [usize; 2],
        [alpha, beta]: &[f32; 2],
    ) {
        for i in 0..M {
            for part in self.c.row(row + i)[column..].chunks(LANES).take(V) {
                P::prefetch(&part[0]);
            }
        }
        multiply::<P, M, V, false>(rows, columns, |i, v, sums| {
            let out = &mut self.c.row(row + i)[column + v * LANES..];
            let count = out.len().min(LANES);
            write(&mut out[..count], sums, *alpha, *beta);
        });
    }

    /// Multiplies a block of rows with V lines of columns.
    #[inline(always)]
    fn lines<P: PairSums, const V: usize>(&mut self, block: &Block<'_>, column: usize, b: &[Line]) {
        let mut columns: [&[Line]; V] = [&[]; V];
        for v in 0..V {
            columns[v] = &b[v * stride(block.pairs)..][..block.pairs];
        }
        let row = self.tiles::<P, TALL, V>(block, block.rows.start, column, columns);
        let row = self.tiles::<P, 4, V>(block, row, column, columns);
        let row = self.tiles::<P, 2, V>(block, row, column, columns);
        self.tiles::<P, 1, V>(block, row, column, columns);
    }

    /// Rounds a block of op(b).
    #[inline(always)]
    fn round_b<P: PairSums>(&self, to: &mut [Line], terms: Range<usize>, columns: Range<usize>) {
        let (stride, from) = (stride(pairs_of(terms.len())), self.b.lying);
        match self.b.transposed {
            false => pack::interleave::<P>(to, stride, from, terms, columns),
            true => pack::transpose::<P>(to, stride, from, columns, terms),
        }
    }

    /// Rounds a block of op(a).
    #[inline(always)]
    fn round_a<P: PairSums>(&self, to: &mut [Line], terms: Range<usize>, rows: Range<usize>) {
        let (pairs, from) = (pairs_of(terms.len()), self.a.lying);
        match self.a.transposed {
            true => pack::interleave::<P>(to, stride(pairs), from, terms, rows),
            false => pack::round_rows::<P>(to, stride(pairs.div_ceil(LANES)), from, rows, terms),
        }
    }

    #[inline(always)]
    fn run<P: PairSums>(mut self, Rounded { a, b }: Rounded<'_>) {
        for columns in ranges(self.c.cols(), self.blocks.columns) {
            for terms in ranges(self.terms, self.blocks.terms) {
                let pairs = pairs_of(terms.len());
                self.round_b::<P>(b, terms.clone(), columns.clone());
                for rows in ranges(self.c.rows(), self.blocks.rows) {
                    self.round_a::<P>(a, terms.clone(), rows.clone());
                    let beta = if terms.start == 0 { self.beta } else { 1.0 };
                    let block = Block { rows, pairs, a, factors: [self.alpha, beta] };
                    let count = columns.len().div_ceil(LANES);
                    let mut line = 0;
                    while line < count {
                        let (column, b) = (columns.start + line * LANES, &b[line * stride(pairs)..]);
                        // Four lines are two and two: one line alone would wait for the pairs of the rows.
                        line += match count - line {
                            1 => {
                                self.lines::<P, 1>(&block, column, b);
                                1
                            }
                            2 | 4 => {
                                self.lines::<P, 2>(&block, column, b);
                                2
                            }
                            _ => {
                                self.lines::<P, WIDE>(&block, column, b);
                                WIDE
                            }
                        };
                    }
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")]
fn run_avx512(product: Product<'_>, rounded: Rounded<'_>) {
    product.run::<super::pairs::x86::Avx512>(rounded)
}

/// Computes the product. c overlaps neither factor, and no shape is empty.
pub(in crate::cpu) fn product(kernel: Kernel, Gemm { c, alpha, a, b, beta }: Gemm<'_>) {
    thread_local! {
        static BUFFERS: RefCell<[Vec<Line>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
    }
    let (_, terms) = a.shape();
    let transposed = [a, b].map(|factor| factor.is_transposed());
    let (c, [a, b]) = split(c, [a.matrix, b.matrix]);
    let (a, b) =
        (Factor { lying: a, transposed: transposed[0] }, Factor { lying: b, transposed: transposed[1] });
    let blocks = Blocks::of(c.rows(), c.cols(), terms, a.transposed);
    BUFFERS.with_borrow_mut(|[of_a, of_b]| {
        for (buffer, size) in [&mut *of_a, &mut *of_b].into_iter().zip(blocks.sizes(a.transposed)) {
            if buffer.len() < size {
                buffer.resize(size, Line::ZERO);
            }
        }
        let rounded = Rounded { a: of_a, b: of_b };
        let product = Product { c, alpha, a, b, beta, terms, blocks };
        match kernel {
            // SAFETY: the kernel exists only if the processor has the instructions.
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512(_) => unsafe { run_avx512(product, rounded) },
            Kernel::Plain => product.run::<Plain>(rounded),
        }
    })
}
