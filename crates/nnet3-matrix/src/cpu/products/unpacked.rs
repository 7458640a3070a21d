//! Products a · bᵀ that read both factors in place, as scalar products of rows.
//!
//! BLAS rearranges both factors before it multiplies. If one of them has few rows, as in recurrent networks and in the
//! natural gradient, that takes a good part of the product's time.

use super::gemm::has_own_roundings;
use super::prefetch::Prefetch;
use crate::backend::Gemm;
use crate::cpu::access::{Rows, RowsMut, split};
use kaldi_simd::{self as simd, Kernel, Simd, Vector, VectorLevel};

/// With at most this many rows of a, this is faster than BLAS on any processor: BLAS then spends most of its time
/// rearranging b.
const FEW_ROWS: usize = 6;
/// With AVX2, at most this many rows of b and at least `LEAST_TERMS` terms, this is faster than BLAS for any number of
/// rows of a.
const FEW_COLUMNS: usize = 32;
const MANY_TERMS: usize = 512;
/// To rearrange b takes time that counts if it has at least this many elements. (Smaller products keep BLAS's own
/// roundings.)
const LEAST_ELEMENTS: usize = 1 << 16;

/// With AVX-512, this is faster than BLAS if a or b has at most this many rows.
const WIDE_ROWS: usize = 128;
/// With AVX-512, the last sum of a scalar product, over the lanes, counts little if there are at least this many terms.
const WIDE_TERMS: usize = 256;

/// Elements that the second-level cache holds.
const CACHED_ELEMENTS: usize = 1 << 18;

const LANES: usize = 16;
/// So many terms are summed before the next rows have their turn: tiles of rows stay in the first-level cache meanwhile.
const TERMS: usize = 1024;

/// Small products with at most this many elements of c and many terms are scalar products in OpenBLAS's kernels for
/// AVX-512, and therefore here.
const MOST_DOTS: usize = 1200;
const LEAST_TERMS: usize = 32;

/// True if [`product`] should be used for m rows of a, n rows of b and k terms. It is then faster than BLAS, or
/// has the required roundings.
pub(in crate::cpu) fn pays(m: usize, n: usize, k: usize) -> bool {
    is_faster(m, n, k) || (has_own_roundings(m, n, k) && m * n <= MOST_DOTS && k >= LEAST_TERMS)
}

fn is_faster(m: usize, n: usize, k: usize) -> bool {
    if (2..=FEW_ROWS).contains(&m) && k * n >= LEAST_ELEMENTS {
        return true;
    }
    let level = simd::vector_level();
    if level == VectorLevel::Avx2 && m > FEW_ROWS && (FEW_ROWS..=FEW_COLUMNS).contains(&n) && k >= MANY_TERMS
    {
        return true;
    }
    // a is read once for each few columns of c, b once.
    let fits = m <= WIDE_ROWS || (n <= WIDE_ROWS && m * k <= CACHED_ELEMENTS);
    let large = m.max(n) * k >= LEAST_ELEMENTS;
    level == VectorLevel::Avx512 && fits && large && m.min(n) >= 8 && k >= WIDE_TERMS
}

/// c = alpha · a · bᵀ + beta · c.
struct Product<'a> {
    c: RowsMut<'a>,
    alpha: f32,
    a: Rows<'a>,
    b: Rows<'a>,
    beta: f32,
}

/// The scalar products of M rows with N rows.
#[inline(always)]
fn dots<S: Simd, const M: usize, const N: usize>(a: [&[f32]; M], b: [&[f32]; N]) -> [[f32; M]; N] {
    let n = b[0].len();
    let mut sums = [[S::V::splat(0.0); M]; N];
    let mut start = 0;
    while start + LANES <= n {
        let mut rows = [S::V::splat(0.0); M];
        for i in 0..M {
            rows[i] = S::V::load(&a[i][start..start + LANES]);
        }
        for k in 0..N {
            let column = S::V::load(&b[k][start..start + LANES]);
            for i in 0..M {
                sums[k][i] = rows[i].mul_add(column, sums[k][i]);
            }
        }
        start += LANES;
    }
    if start < n {
        for k in 0..N {
            let column = S::V::load_part(&b[k][start..n], 0.0);
            for i in 0..M {
                sums[k][i] = S::V::load_part(&a[i][start..n], 0.0).mul_add(column, sums[k][i]);
            }
        }
    }
    let mut out = [[0.0; M]; N];
    for k in 0..N {
        for (to, of) in out[k].chunks_mut(4).zip(sums[k].chunks(4)) {
            let mut four = [S::V::splat(0.0); 4];
            four[..of.len()].copy_from_slice(of);
            to.copy_from_slice(&S::V::sums(four)[..of.len()]);
        }
    }
    out
}

/// Terms `start` to `end` of products.
#[derive(Clone, Copy)]
struct Terms {
    start: usize,
    end: usize,
}

impl Terms {
    fn len(self) -> usize {
        self.end - self.start
    }
}

impl Product<'_> {
    /// Rows `i` to `i + M` of c, columns `j` to `j + N`.
    #[inline(always)]
    fn tile<S: Simd, const M: usize, const N: usize>(&mut self, i: usize, j: usize, terms: Terms) {
        let (mut a, mut b): ([&[f32]; M], [&[f32]; N]) = ([&[]; M], [&[]; N]);
        let n = terms.len();
        for k in 0..M {
            a[k] = &self.a.row(i + k)[terms.start..][..n];
        }
        for k in 0..N {
            b[k] = &self.b.row(j + k)[terms.start..][..n];
        }
        let sums = dots::<S, M, N>(a, b);
        let beta = if terms.start == 0 { self.beta } else { 1.0 };
        for k in 0..M {
            let out = &mut self.c.row(i + k)[j..j + N];
            for l in 0..N {
                let sum = self.alpha * sums[l][k];
                out[l] = if beta == 0.0 { sum } else { sum + beta * out[l] };
            }
        }
    }

    /// Columns `j` to `j + N` of c, in tiles of M rows.
    #[inline(always)]
    fn columns<S: Simd, const M: usize, const N: usize>(&mut self, j: usize, terms: Terms) {
        let rows = self.c.rows();
        // If b is in the cache anyway, or is read at memory speed, prefetching only costs time.
        let large = rows > 2 * M && self.b.rows() * terms.len() > CACHED_ELEMENTS;
        let next = if large { j + N..j + 2 * N } else { 0..0 };
        let mut prefetch = Prefetch::new(self.b, next, terms.start..terms.end);
        let lines = prefetch.lines().div_ceil(rows.div_ceil(M));
        let mut i = 0;
        while i + M <= rows {
            prefetch.fetch::<S>(lines);
            self.tile::<S, M, N>(i, j, terms);
            i += M;
        }
        while i < rows {
            self.tile::<S, 1, N>(i, j, terms);
            i += 1;
        }
    }

    /// Rows `i` to `i + M` of c, N columns at a time.
    #[inline(always)]
    fn rows<S: Simd, const M: usize, const N: usize>(&mut self, i: usize, terms: Terms) {
        let cols = self.c.cols();
        let mut j = 0;
        while j + N <= cols {
            self.tile::<S, M, N>(i, j, terms);
            j += N;
        }
        while j < cols {
            self.tile::<S, M, 1>(i, j, terms);
            j += 1;
        }
    }

    /// All rows, M at a time: where b fits into a cache, a is read once.
    #[inline(always)]
    fn run_by_rows<S: Simd, const M: usize, const N: usize>(&mut self) {
        let rows = self.c.rows();
        for start in (0..self.b.cols()).step_by(TERMS) {
            let terms = Terms { start, end: self.b.cols().min(start + TERMS) };
            let mut i = 0;
            while i + M <= rows {
                self.rows::<S, M, N>(i, terms);
                i += M;
            }
            while i < rows {
                self.rows::<S, 1, N>(i, terms);
                i += 1;
            }
        }
    }

    /// Computes all columns, N at a time.
    #[inline(always)]
    fn run<S: Simd, const M: usize, const N: usize>(&mut self) {
        let cols = self.c.cols();
        if S::LEVEL == VectorLevel::Avx2 && cols <= FEW_COLUMNS {
            return self.run_by_rows::<S, M, N>();
        }
        for start in (0..self.b.cols()).step_by(TERMS) {
            let terms = Terms { start, end: self.b.cols().min(start + TERMS) };
            let mut j = 0;
            while j + N <= cols {
                self.columns::<S, M, N>(j, terms);
                j += N;
            }
            while j < cols {
                self.columns::<S, M, 1>(j, terms);
                j += 1;
            }
        }
    }
}

impl Kernel for Product<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        // As many sums as there are registers for.
        match S::LEVEL {
            VectorLevel::Avx512 if self.c.rows() >= 4 => Product::run::<S, 4, 6>(&mut self),
            VectorLevel::Avx512 => Product::run::<S, 3, 4>(&mut self),
            VectorLevel::Avx2 | VectorLevel::Portable => Product::run::<S, 2, 3>(&mut self),
        }
    }
}

/// Computes a product with a plain a and a transposed b. c overlaps neither factor.
pub(in crate::cpu) fn product(Gemm { c, alpha, a, b, beta }: Gemm<'_>) {
    assert!(!a.is_transposed() && b.is_transposed(), "a product of rows with rows");
    let (c, [a, b]) = split(c, [a.matrix, b.matrix]);
    simd::run(Product { c, alpha, a, b, beta })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Transpose;
    use crate::cpu::products::gemm::tests::check;

    #[test]
    fn agrees_with_sums_in_double_precision() {
        for shape in [(2, 5, 3), (8, 24, 256), (13, 31, 37), (9, 17, 1100), (5, 1100, 250)] {
            check(shape, (Transpose::No, Transpose::Yes), product);
        }
    }
}
