//! Reductions along a row, in several lanes side by side so that the compiler can use vectors.

use super::math;
use super::simd::Simd;
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

/// Lanes for long rows, and for short ones and what is left over.
const WIDE: usize = 64;
const NARROW: usize = 16;
/// Elements that are summed in `f32`.
const STRETCH: usize = 64 * WIDE;

/// Σ_j f(rows[j]), `f` being 0 at zeros: sums over stretches in `f32`, their sum in `f64`.
#[inline(always)]
pub(super) fn total<const N: usize>(rows: RowSet<'_, N>, f: impl Fn([f32; N]) -> f32 + Copy) -> f64 {
    let n = rows[0].len();
    let mut sum = 0.0;
    let mut start = 0;
    while n - start > STRETCH {
        sum += stretch(cut(rows, start..start + STRETCH), f) as f64;
        start += STRETCH;
    }
    sum + stretch(cut(rows, start..n), f) as f64
}

/// [`total`] of at most [`STRETCH`] elements.
#[inline(always)]
pub(super) fn stretch<const N: usize>(rows: RowSet<'_, N>, f: impl Fn([f32; N]) -> f32 + Copy) -> f32 {
    let n = rows[0].len();
    if n < NARROW {
        let rows = cut(rows, 0..n);
        let mut sum = 0.0;
        for j in 0..n {
            sum += f(at(rows, j));
        }
        return sum;
    }
    let mut lanes = [0.0f32; NARROW];
    let mut start = 0;
    if n >= WIDE {
        let mut wide = [0.0f32; WIDE];
        while start + WIDE <= n {
            let part = cut(rows, start..start + WIDE);
            for k in 0..WIDE {
                wide[k] += f(at(part, k));
            }
            start += WIDE;
        }
        lanes = narrowed(wide);
    }
    while start + NARROW <= n {
        let part = cut(rows, start..start + NARROW);
        for k in 0..NARROW {
            lanes[k] += f(at(part, k));
        }
        start += NARROW;
    }
    if start < n {
        // The last elements once more, without those that were counted already.
        let part = cut(rows, n - NARROW..n);
        let counted = start + NARROW - n;
        for k in 0..NARROW {
            lanes[k] += if k < counted { 0.0 } else { f(at(part, k)) };
        }
    }
    folded(lanes)
}

#[inline(always)]
fn narrowed(wide: [f32; WIDE]) -> [f32; NARROW] {
    let mut lanes = [0.0; NARROW];
    for k in 0..NARROW {
        lanes[k] = (wide[k] + wide[k + 16]) + (wide[k + 32] + wide[k + 48]);
    }
    lanes
}

/// The sum of all lanes.
#[inline(always)]
fn folded(mut lanes: [f32; NARROW]) -> f32 {
    let mut half = NARROW / 2;
    while half > 0 {
        for k in 0..half {
            lanes[k] += lanes[k + half];
        }
        half /= 2;
    }
    lanes[0]
}

#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

/// Largest element; NaN is passed over.
#[inline(always)]
pub(super) fn maximum(row: &[f32]) -> f32 {
    let n = row.len();
    if n < NARROW {
        let mut max = f32::NEG_INFINITY;
        for &x in row {
            max = larger(max, x);
        }
        return max;
    }
    let mut lanes = [f32::NEG_INFINITY; NARROW];
    let mut start = 0;
    if n >= WIDE {
        let mut wide = [f32::NEG_INFINITY; WIDE];
        while start + WIDE <= n {
            let part = &row[start..start + WIDE];
            for k in 0..WIDE {
                wide[k] = larger(wide[k], part[k]);
            }
            start += WIDE;
        }
        for k in 0..NARROW {
            lanes[k] = larger(larger(wide[k], wide[k + 16]), larger(wide[k + 32], wide[k + 48]));
        }
    }
    while start < n {
        // The last ones may be some that were seen already.
        let first = start.min(n - NARROW);
        let part = &row[first..first + NARROW];
        for k in 0..NARROW {
            lanes[k] = larger(lanes[k], part[k]);
        }
        start += NARROW;
    }
    let mut half = NARROW / 2;
    while half > 0 {
        for k in 0..half {
            lanes[k] = larger(lanes[k], lanes[k + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// Σ exp(x - max) over a row; with `STORE` the row becomes these exponentials.
#[inline(always)]
pub(super) fn exponentials<S: Simd, const STORE: bool>(row: &mut [f32], max: f32) -> f32 {
    let n = row.len();
    let mut lanes = [0.0f32; WIDE];
    let mut start = 0;
    while start + WIDE <= n {
        let part = &mut row[start..start + WIDE];
        for k in 0..WIDE {
            let e = math::exp::<S>(part[k] - max);
            lanes[k] += e;
            if STORE {
                part[k] = e;
            }
        }
        start += WIDE;
    }
    if start < n {
        // Whole vectors for the rest too: what is beyond the row's end has exponential 0.
        let rest = &mut row[start..];
        let mut part = [f32::NEG_INFINITY; WIDE];
        for (to, from) in part.iter_mut().zip(&*rest) {
            *to = *from;
        }
        for k in 0..WIDE.min(rest.len().next_multiple_of(NARROW)) {
            part[k] = math::exp::<S>(part[k] - max);
            lanes[k] += part[k];
        }
        if STORE {
            for (to, from) in rest.iter_mut().zip(&part) {
                *to = *from;
            }
        }
    }
    folded(narrowed(lanes))
}
