//! Products of a few rows with a large transposed matrix, as in recurrent networks on one utterance.
//!
//! BLAS rearranges the large matrix before it multiplies, which takes longer than the product of a few rows itself. Here
//! that matrix is read once, as it lies.

use super::access::{Rows, RowsMut, split};
use super::simd::{self, Kernel, Simd};
use super::vector::Vector;
use crate::view::{View, ViewMut};

/// Rows up to which this is faster than BLAS.
pub(super) const MOST_ROWS: usize = 6;
/// Elements of the large matrix from which on rearranging it counts. (Smaller products keep BLAS's own roundings.)
pub(super) const LEAST_ELEMENTS: usize = 1 << 16;

const LANES: usize = 16;

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
fn dots<S: Simd, const M: usize, const N: usize>(a: [&[f32]; M], b: [&[f32]; N]) -> [[f32; N]; M] {
    let n = b[0].len();
    let mut sums = [[S::V::splat(0.0); N]; M];
    let mut start = 0;
    while start + LANES <= n {
        let mut columns = [S::V::splat(0.0); N];
        for k in 0..N {
            columns[k] = S::V::load(&b[k][start..start + LANES]);
        }
        for i in 0..M {
            let row = S::V::load(&a[i][start..start + LANES]);
            for k in 0..N {
                sums[i][k] = row.mul_add(columns[k], sums[i][k]);
            }
        }
        start += LANES;
    }
    if start < n {
        for i in 0..M {
            let row = S::V::load_part(&a[i][start..n], 0.0);
            for k in 0..N {
                sums[i][k] = row.mul_add(S::V::load_part(&b[k][start..n], 0.0), sums[i][k]);
            }
        }
    }
    let mut out = [[0.0; N]; M];
    for i in 0..M {
        for k in 0..N {
            out[i][k] = sums[i][k].sum();
        }
    }
    out
}

impl Product<'_> {
    /// Rows `i` to `i + M` of c, columns `j` to `j + N`.
    #[inline(always)]
    fn block<S: Simd, const M: usize, const N: usize>(&mut self, i: usize, j: usize) {
        let (mut a, mut b): ([&[f32]; M], [&[f32]; N]) = ([&[]; M], [&[]; N]);
        let n = self.b.cols();
        for k in 0..M {
            a[k] = &self.a.row(i + k)[..n];
        }
        for k in 0..N {
            b[k] = &self.b.row(j + k)[..n];
        }
        let sums = dots::<S, M, N>(a, b);
        for k in 0..M {
            let out = &mut self.c.row(i + k)[j..j + N];
            for l in 0..N {
                let sum = self.alpha * sums[k][l];
                out[l] = if self.beta == 0.0 { sum } else { sum + self.beta * out[l] };
            }
        }
    }

    /// Columns `j` to `j + N` of c.
    #[inline(always)]
    fn columns<S: Simd, const N: usize>(&mut self, j: usize) {
        let rows = self.c.rows();
        let mut i = 0;
        while i + 3 <= rows {
            self.block::<S, 3, N>(i, j);
            i += 3;
        }
        match rows - i {
            1 => self.block::<S, 1, N>(i, j),
            2 => self.block::<S, 2, N>(i, j),
            _ => {}
        }
    }
}

impl Kernel for Product<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        let cols = self.c.cols();
        let mut j = 0;
        while j + 4 <= cols {
            self.columns::<S, 4>(j);
            j += 4;
        }
        while j < cols {
            self.columns::<S, 1>(j);
            j += 1;
        }
    }
}

/// c = alpha · a · bᵀ + beta · c; c overlaps neither factor.
pub(super) fn product(c: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>, beta: f32) {
    let (c, [a, b]) = split(c, [a, b]);
    simd::run(Product { c, alpha, a, b, beta })
}
