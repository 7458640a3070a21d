//! Products with 8-bit weights. The terms of a row are rounded to 254 steps between their minimum and maximum (and
//! zero). Sums of integers are exact, so that all levels of vector instructions give the same results.

#![allow(unsafe_code)]

use crate::bytes::{BLOCK, Bytes, GROUP, Line, ROUNDER};
use crate::cpu::access::{Rows, RowsMut};
use crate::cpu::begin::Begin;
use kaldi_simd::{self as simd, Kernel, Simd, Vector, VectorLevel};
use std::cell::RefCell;
use std::ops::Range;

const LANES: usize = 16;
/// Number of rows that are rounded before they are multiplied: as many as stay in a second-level cache.
const MOST_ROWS: usize = 64;
/// Steps between the least and the largest term of a row. A byte has room for one more on either side, for roundings.
const STEPS: f32 = 253.0;

/// The terms of a row are `step` times (byte - `zero`).
#[derive(Clone, Copy, Debug, Default)]
struct Scale {
    step: f32,
    zero: u8,
}

/// Rounded rows, which a thread uses again and again.
#[derive(Default)]
struct Rounded {
    /// Row after row.
    terms: Vec<[u8; GROUP]>,
    scales: Vec<Scale>,
}

thread_local! {
    static ROUNDED: RefCell<Rounded> = RefCell::default();
}

/// output = start + Σ taps · weights, for the weights from term `first` on.
pub(in crate::cpu) fn add_up(
    output: &mut RowsMut<'_>,
    start: Begin<'_>,
    taps: &[Rows<'_>],
    bytes: &Bytes,
    first: usize,
) {
    let count: usize = taps.iter().map(Rows::cols).sum();
    let groups = first / GROUP..(first + count).div_ceil(GROUP);
    ROUNDED.with_borrow_mut(|rounded| {
        for begin in (0..output.rows()).step_by(MOST_ROWS) {
            let rows = begin..output.rows().min(begin + MOST_ROWS);
            rounded.terms.resize(rows.len() * groups.len(), [0; GROUP]);
            rounded.scales.clear();
            for (row, to) in rows.clone().zip(rounded.terms.chunks_exact_mut(groups.len().max(1))) {
                let to = to.as_flattened_mut();
                rounded.scales.push(simd::run(Round { taps, row, lead: first % GROUP, to }));
            }
            run(Product { output, start, rows, rounded, bytes, groups: groups.clone() });
        }
    });
}

/// Rounds a row of all taps, with `lead` terms before it and others after it that count as zeros.
struct Round<'a> {
    taps: &'a [Rows<'a>],
    row: usize,
    lead: usize,
    to: &'a mut [u8],
}

impl Kernel for Round<'_> {
    type Output = Scale;
    #[inline(always)]
    fn run<S: Simd>(self) -> Scale {
        let zero = S::V::splat(0.0);
        // Vectors do not keep all that is not a number; a difference does.
        let (mut most, mut least, mut defect) = (zero, zero, zero);
        for tap in self.taps {
            for x in tap.row(self.row).chunks(LANES) {
                let x = if x.len() == LANES { S::V::load(x) } else { S::V::load_part(x, 0.0) };
                most = x.larger(most);
                least = zero.sub(x).larger(least);
                defect = defect.add(x.sub(x));
            }
        }
        let (most, least, defect) = (most.largest(), -least.largest(), defect.sum());
        let range = most - least;
        let usable = range.is_finite() && range > 1e-30 && defect == 0.0;
        let step = if usable { range / STEPS } else { 0.0 };
        let inverse = if usable { STEPS / range } else { 0.0 };
        let zero = (1.0 - least * inverse).round();
        let shift = ROUNDER + if usable { zero } else { 1.0 };
        let (mut done, zero) = (self.lead, if usable { zero as u8 } else { 1 });
        self.to[..self.lead].fill(zero);
        for tap in self.taps {
            let row = tap.row(self.row);
            for (to, x) in self.to[done..done + row.len()].iter_mut().zip(row) {
                *to = (x * inverse + shift).to_bits() as u8;
            }
            done += row.len();
        }
        self.to[done..].fill(zero);
        // If a row has a value that is not finite, all its results are NaN.
        Scale { step: if usable || defect == 0.0 { step } else { f32::NAN }, zero }
    }
}

/// Sums of products of whole numbers, for each output of a block.
trait Sums: Copy {
    /// A line, as products take it.
    type Weights: Copy;
    fn zero() -> Self;
    fn load(line: &Line) -> Self::Weights;
    /// Adds the products with four terms.
    fn add(self, terms: [u8; GROUP], weights: Self::Weights) -> Self;
    fn store(self) -> [i32; BLOCK];
    #[inline(always)]
    fn prefetch(soon: &Line) {
        let _ = soon;
    }
}

/// Number of cache lines by which the prefetch of weights is ahead.
const AHEAD: usize = 64;

struct Product<'a, 'o> {
    output: &'a mut RowsMut<'o>,
    start: Begin<'a>,
    rows: Range<usize>,
    rounded: &'a Rounded,
    bytes: &'a Bytes,
    groups: Range<usize>,
}

impl<'a> Product<'a, '_> {
    /// The groups of a block.
    #[inline(always)]
    fn lines(&self, block: usize) -> &'a [Line] {
        let first = block * self.bytes.groups;
        &self.bytes.lines[first + self.groups.start..first + self.groups.end]
    }

    /// The sums of the block's weights for these terms.
    #[inline(always)]
    fn sums<D: Sums>(&self, block: usize) -> [i32; BLOCK] {
        if self.groups == (0..self.bytes.groups) {
            let mut sums = [0; BLOCK];
            sums.copy_from_slice(&self.bytes.sums[block * BLOCK..][..BLOCK]);
            return sums;
        }
        self.lines(block).iter().fold(D::zero(), |sums, line| sums.add([1; GROUP], D::load(line))).store()
    }

    /// M rows from row `row` on, with V blocks.
    #[inline(always)]
    fn tile<D: Sums, const M: usize, const V: usize>(
        &mut self,
        row: usize,
        block: usize,
        weights: &[[i32; BLOCK]; V],
    ) {
        let groups = self.groups.len();
        let mut lines: [&[Line]; V] = [&[]; V];
        let mut terms: [&[[u8; GROUP]]; M] = [&[]; M];
        for v in 0..V {
            lines[v] = &self.lines(block + v)[..groups];
        }
        for i in 0..M {
            terms[i] = &self.rounded.terms[(row + i) * groups..][..groups];
        }
        let mut sums = [[D::zero(); V]; M];
        for g in 0..groups {
            let mut loaded = [D::load(&lines[0][g]); V];
            for v in 0..V {
                if let Some(soon) = lines[v].get(g + AHEAD) {
                    D::prefetch(soon);
                }
                loaded[v] = D::load(&lines[v][g]);
            }
            for i in 0..M {
                for v in 0..V {
                    sums[i][v] = sums[i][v].add(terms[i][g], loaded[v]);
                }
            }
        }
        for i in 0..M {
            let Scale { step, zero } = self.rounded.scales[row + i];
            for v in 0..V {
                let first = (block + v) * BLOCK;
                let whole = sums[i][v].store();
                let scales = &self.bytes.scales[first..first + BLOCK];
                let mut values = [0.0; BLOCK];
                for o in 0..BLOCK {
                    let number = whole[o].wrapping_sub(weights[v][o].wrapping_mul(i32::from(zero)));
                    values[o] = number as f32 * (step * scales[o]);
                }
                let to = self.output.row(self.rows.start + row + i);
                let last = to.len().min(first + BLOCK);
                let to = &mut to[first..last];
                match self.start {
                    Begin::Zero => to.copy_from_slice(&values[..to.len()]),
                    Begin::Row(start) => {
                        let all = to.iter_mut().zip(&start[first..last]).zip(&values);
                        all.for_each(|((to, start), value)| *to = start + value);
                    }
                    Begin::Output => to.iter_mut().zip(&values).for_each(|(to, value)| *to += value),
                }
            }
        }
    }

    /// All rows with V blocks, in tiles of about equal height.
    #[inline(always)]
    fn blocks<D: Sums, const MOST: usize, const V: usize>(&mut self, block: usize) {
        let mut weights = [[0; BLOCK]; V];
        for v in 0..V {
            weights[v] = self.sums::<D>(block + v);
        }
        let (count, mut row) = (self.rows.len(), 0);
        let tiles = count.div_ceil(MOST);
        for t in 0..tiles {
            let height = (count - row).div_ceil(tiles - t);
            match height {
                1 => self.tile::<D, 1, V>(row, block, &weights),
                2 => self.tile::<D, 2, V>(row, block, &weights),
                3 if MOST > 2 => self.tile::<D, 3, V>(row, block, &weights),
                4 if MOST > 2 => self.tile::<D, 4, V>(row, block, &weights),
                5 if MOST > 2 => self.tile::<D, 5, V>(row, block, &weights),
                6 if MOST > 2 => self.tile::<D, 6, V>(row, block, &weights),
                7 if MOST > 2 => self.tile::<D, 7, V>(row, block, &weights),
                8 if MOST > 2 => self.tile::<D, 8, V>(row, block, &weights),
                _ => unreachable!("a tile of {height} rows"),
            }
            row += height;
        }
    }

    /// The whole product, in tiles of at most MOST rows and V blocks.
    #[inline(always)]
    fn run<D: Sums, const MOST: usize, const V: usize>(mut self) {
        let blocks = self.output.cols().div_ceil(BLOCK);
        let mut block = 0;
        while block + V <= blocks {
            self.blocks::<D, MOST, V>(block);
            block += V;
        }
        while block < blocks {
            self.blocks::<D, MOST, 1>(block);
            block += 1;
        }
    }
}

impl Sums for [i32; BLOCK] {
    type Weights = [i8; BLOCK * GROUP];
    fn zero() -> Self {
        [0; BLOCK]
    }
    fn load(line: &Line) -> Self::Weights {
        line.0
    }
    fn add(mut self, terms: [u8; GROUP], weights: Self::Weights) -> Self {
        for (sum, weights) in self.iter_mut().zip(weights.as_chunks::<GROUP>().0) {
            let products = terms.iter().zip(weights).map(|(&x, &w)| i32::from(x) * i32::from(w));
            *sum += products.sum::<i32>();
        }
        self
    }
    fn store(self) -> [i32; BLOCK] {
        self
    }
}

fn run(product: Product<'_, '_>) {
    #[cfg(target_arch = "x86_64")]
    match simd::vector_level() {
        // SAFETY: the level implies that the processor has AVX-512; the check covers the rest.
        VectorLevel::Avx512 if x86::has_vnni() => return unsafe { x86::run_vnni(product) },
        // SAFETY: both levels imply that the processor has AVX2.
        VectorLevel::Avx512 | VectorLevel::Avx2 => return unsafe { x86::run_avx2(product) },
        VectorLevel::Portable => {}
    }
    product.run::<[i32; BLOCK], 2, 1>()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{BLOCK, GROUP, Line, Product, Sums};
    use std::arch::x86_64::*;

    pub(crate) fn has_vnni() -> bool {
        std::arch::is_x86_feature_detected!("avx512vnni")
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma")]
    pub(crate) fn run_vnni(product: Product<'_, '_>) {
        product.run::<Wide, 8, 3>()
    }

    #[target_feature(enable = "avx2,fma")]
    pub(crate) fn run_avx2(product: Product<'_, '_>) {
        product.run::<Quarters, 2, 1>()
    }

    /// Sixteen sums in a register. Only code for AVX-512 with VNNI uses the type.
    #[derive(Clone, Copy)]
    struct Wide(__m512i);

    impl Sums for Wide {
        type Weights = __m512i;
        #[inline(always)]
        fn zero() -> Self {
            // SAFETY: see the type.
            Wide(unsafe { _mm512_setzero_si512() })
        }
        #[inline(always)]
        fn load(line: &Line) -> __m512i {
            // SAFETY: see the type; a line has 64 bytes and begins at a multiple of them.
            unsafe { _mm512_load_si512(line.0.as_ptr().cast()) }
        }
        #[inline(always)]
        fn add(self, terms: [u8; GROUP], weights: __m512i) -> Self {
            // SAFETY: see the type.
            Wide(unsafe {
                _mm512_dpbusd_epi32(self.0, _mm512_set1_epi32(i32::from_le_bytes(terms)), weights)
            })
        }
        #[inline(always)]
        fn store(self) -> [i32; BLOCK] {
            let mut out = [0; BLOCK];
            // SAFETY: see the type; the array has room for sixteen numbers.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), self.0) }
            out
        }
        #[inline(always)]
        fn prefetch(soon: &Line) {
            // SAFETY: every processor of x86-64 has the instruction, which changes no values and never fails.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(soon.0.as_ptr()) }
        }
    }

    /// In each quarter, for four outputs, the sums of the products with the first two terms and those with the last
    /// two. Only code for AVX2 uses the type.
    #[derive(Clone, Copy)]
    struct Quarters([__m256i; 4]);

    impl Sums for Quarters {
        type Weights = [__m256i; 4];
        #[inline(always)]
        fn zero() -> Self {
            // SAFETY: see the type.
            Quarters([unsafe { _mm256_setzero_si256() }; 4])
        }
        #[inline(always)]
        fn load(line: &Line) -> [__m256i; 4] {
            // SAFETY: see the type; a line has 64 bytes.
            [0, 1, 2, 3]
                .map(|q| unsafe { _mm256_cvtepi8_epi16(_mm_load_si128(line.0.as_ptr().add(16 * q).cast())) })
        }
        #[inline(always)]
        fn add(mut self, terms: [u8; GROUP], weights: [__m256i; 4]) -> Self {
            // SAFETY: see the type. Products of sixteen bits do not overflow: 255 · 127 · 2 is less than 2³¹.
            unsafe {
                let terms = _mm256_cvtepu8_epi16(_mm_set1_epi32(i32::from_le_bytes(terms)));
                for q in 0..4 {
                    self.0[q] = _mm256_add_epi32(self.0[q], _mm256_madd_epi16(weights[q], terms));
                }
            }
            self
        }
        #[inline(always)]
        fn store(self) -> [i32; BLOCK] {
            let mut halves = [0; 2 * BLOCK];
            for (quarter, to) in self.0.into_iter().zip(halves.chunks_exact_mut(8)) {
                // SAFETY: see the type; there is room for eight numbers.
                unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), quarter) }
            }
            let mut out = [0; BLOCK];
            for o in 0..BLOCK {
                out[o] = halves[2 * o] + halves[2 * o + 1];
            }
            out
        }
    }
}
