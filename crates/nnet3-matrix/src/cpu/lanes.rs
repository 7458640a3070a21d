//! Sums, products and exponentials along a row, sixteen lanes at a time.

use super::math;
use kaldi_simd::{ROUNDER, Simd, Vector};
use std::ops::Range;

/// One row of each of N sources; as long as each other.
pub(super) type RowSet<'a, const N: usize> = [&'a [f32]; N];

// `array::map` with a closure would do for these, but is not always inlined.

/// The same columns of each.
#[inline(always)]
pub(super) fn cut<'a, const N: usize>(rows: RowSet<'a, N>, range: Range<usize>) -> RowSet<'a, N> {
    let mut out: RowSet<'a, N> = [&[]; N];
    for k in 0..N {
        out[k] = &rows[k][range.clone()];
    }
    out
}

/// Element `j` of each.
#[inline(always)]
pub(super) fn at<const N: usize>(rows: RowSet<'_, N>, j: usize) -> [f32; N] {
    let mut out = [0.0; N];
    for k in 0..N {
        out[k] = rows[k][j];
    }
    out
}

const LANES: usize = 16;
/// Elements that are summed in `f32`: 64 for each of 64 lanes.
const STRETCH: usize = 4096;

/// Σ_j Π_k rows\[k\]\[j\]: the sum of a row or the dot product of two. Sums over stretches are formed in `f32`, in
/// several lanes, and added in `f64`.
#[inline(always)]
pub(super) fn total<S: Simd, const N: usize>(rows: RowSet<'_, N>) -> f64 {
    let n = rows[0].len();
    let mut sum = 0.0;
    let mut start = 0;
    while n - start > STRETCH {
        sum += stretch::<S, N>(cut(rows, start..start + STRETCH)) as f64;
        start += STRETCH;
    }
    sum + stretch::<S, N>(cut(rows, start..n)) as f64
}

/// [`total`] of a stretch, or where `f32` is enough.
#[inline(always)]
pub(super) fn stretch<S: Simd, const N: usize>(rows: RowSet<'_, N>) -> f32 {
    /// sum + the product of 16 elements of each row, or of fewer.
    #[inline(always)]
    fn grown<V: Vector, const N: usize>(sum: V, rows: RowSet<'_, N>) -> V {
        let first = load::<V>(rows[0]);
        if N == 1 { sum.add(first) } else { first.mul_add(load::<V>(rows[N - 1]), sum) }
    }
    #[inline(always)]
    fn load<V: Vector>(row: &[f32]) -> V {
        if row.len() >= LANES { V::load(row) } else { V::load_part(row, 0.0) }
    }
    const { assert!(N == 1 || N == 2) };
    let n = rows[0].len();
    let rows = cut(rows, 0..n);
    let mut sums = [S::V::splat(0.0); 4];
    let mut start = 0;
    while start + 4 * LANES <= n {
        for (k, sum) in sums.iter_mut().enumerate() {
            let first = start + k * LANES;
            *sum = grown(*sum, cut(rows, first..first + LANES));
        }
        start += 4 * LANES;
    }
    while start + LANES <= n {
        sums[0] = grown(sums[0], cut(rows, start..start + LANES));
        start += LANES;
    }
    if start < n {
        sums[1] = grown(sums[1], cut(rows, start..n));
    }
    sums[0].add(sums[1]).add(sums[2].add(sums[3])).sum()
}

/// Largest element; NaN is passed over.
#[inline(always)]
pub(super) fn maximum<S: Simd>(row: &[f32]) -> f32 {
    let mut largest = [S::V::splat(f32::NEG_INFINITY); 2];
    let (pairs, rest) = row.as_chunks::<{ 2 * LANES }>();
    for pair in pairs {
        largest[0] = largest[0].larger(S::V::load(&pair[..LANES]));
        largest[1] = largest[1].larger(S::V::load(&pair[LANES..]));
    }
    for (k, part) in rest.chunks(LANES).enumerate() {
        largest[k] = largest[k].larger(S::V::load_part(part, f32::NEG_INFINITY));
    }
    largest[0].larger(largest[1]).largest()
}

/// exp(x) for x ≤ 0; as [`math::exp`].
#[inline(always)]
fn exp<V: Vector>(x: V) -> V {
    let lowest = V::splat(math::LOWEST);
    // NaN stays: it is the second operand.
    let inside = x.larger(lowest);
    let rounded = inside.mul_add(V::splat(math::LOG2_E), V::splat(ROUNDER));
    let n = rounded.sub(V::splat(ROUNDER));
    let r = n.mul_add(V::splat(-math::LN2_HIGH), inside);
    let r = n.mul_add(V::splat(-math::LN2_LOW), r);
    let mut p = V::splat(math::EXP_TAIL[0]);
    for coefficient in &math::EXP_TAIL[1..] {
        p = p.mul_add(r, V::splat(*coefficient));
    }
    let y = p.mul(r.mul(r)).add(r).add(V::splat(1.0));
    y.mul(rounded.power_of_two()).zero_below(x, lowest)
}

/// Σ exp(x - max) over src, or over dst if there is no src; with `STORE` dst becomes these exponentials.
#[inline(always)]
pub(super) fn exponentials<S: Simd, const STORE: bool>(
    dst: &mut [f32],
    src: Option<&[f32]>,
    max: f32,
) -> f32 {
    let n = dst.len();
    let max = S::V::splat(max);
    let mut sums = [S::V::splat(0.0); 2];
    let mut start = 0;
    while start + LANES <= n {
        let range = start..start + LANES;
        let x = S::V::load(src.map_or(&dst[range.clone()], |src| &src[range.clone()]));
        let e = exp(x.sub(max));
        if STORE {
            e.store(&mut dst[range]);
        }
        sums.swap(0, 1);
        sums[0] = sums[0].add(e);
        start += LANES;
    }
    if start < n {
        let x = S::V::load_part(src.map_or(&dst[start..], |src| &src[start..n]), f32::NEG_INFINITY);
        let e = exp(x.sub(max));
        if STORE {
            e.store_part(&mut dst[start..]);
        }
        sums[0] = sums[0].add(e);
    }
    sums[0].add(sums[1]).sum()
}
