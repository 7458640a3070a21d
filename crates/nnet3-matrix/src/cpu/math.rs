//! exp, log, sigmoid, tanh for loops that LLVM can vectorise: polynomials and selects, no branches, no calls.
//!
//! Relative error at most 3e-7 (about 2.5 units in the last place); NaN stays NaN. Polynomials: S. L. Moshier's Cephes
//! library (`expf`, `logf`), the range reductions are the usual ones by Cody and Waite.

use kaldi_simd::{ROUNDER, Simd, power_of_two, rounded_integer};

pub(super) const LOG2_E: f32 = std::f32::consts::LOG2_E;
/// ln 2 in two parts, so that small integers times the first are exact.
pub(super) const LN2_HIGH: f32 = 0.693_359_4;
pub(super) const LN2_LOW: f32 = -2.121_944_4e-4;

/// x = n ln 2 + r with |r| ≤ ln 2 / 2; returns (n, r). Needs |x| < 2^20.
#[inline(always)]
fn reduce<S: Simd>(x: f32) -> (i32, f32) {
    let rounded = S::fma(x, LOG2_E, ROUNDER);
    let n = rounded - ROUNDER;
    let r = S::fma(n, -LN2_LOW, S::fma(n, -LN2_HIGH, x));
    (rounded_integer(rounded), r)
}

/// (exp(r) - 1 - r) / r² as a polynomial for |r| ≤ ln 2 / 2, highest power first.
pub(super) const EXP_TAIL: [f32; 6] =
    [1.987_569_1e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5];

/// The argument with the smallest normal number as its exponential.
pub(super) const LOWEST: f32 = -87.336_54;

/// exp(r) - 1 - r for |r| ≤ ln 2 / 2.
#[inline(always)]
fn exp_tail<S: Simd>(r: f32) -> f32 {
    let mut p = EXP_TAIL[0];
    for coefficient in &EXP_TAIL[1..] {
        p = S::fma(p, r, *coefficient);
    }
    p * (r * r)
}

/// Results below the smallest normal number are 0 (no slow denormal numbers), above the largest one infinity.
#[inline(always)]
pub(super) fn exp<S: Simd>(x: f32) -> f32 {
    const HIGHEST: f32 = 88.8;
    let inside = if x > HIGHEST { HIGHEST } else { x };
    let inside = if inside < LOWEST { LOWEST } else { inside };
    let (n, r) = reduce::<S>(inside);
    let y = exp_tail::<S>(r) + r + 1.0;
    // In two factors: n may be 128.
    let half = n >> 1;
    let y = y * power_of_two(half) * power_of_two(n.wrapping_sub(half));
    if x < LOWEST { 0.0 } else { y }
}

/// [`exp`] for x ≤ 0 (or NaN), to the bit.
#[inline(always)]
fn exp_below_zero<S: Simd>(x: f32) -> f32 {
    let inside = if x < LOWEST { LOWEST } else { x };
    let (n, r) = reduce::<S>(inside);
    let y = (exp_tail::<S>(r) + r + 1.0) * power_of_two(n);
    if x < LOWEST { 0.0 } else { y }
}

/// 1 / (1 + exp(-x)).
#[inline(always)]
pub(super) fn sigmoid<S: Simd>(x: f32) -> f32 {
    let e = exp_below_zero::<S>(-x.abs());
    (if x > 0.0 { 1.0 } else { e }) / (1.0 + e)
}

/// By way of exp(-2|x|) - 1, which is accurate near 0 too.
#[inline(always)]
pub(super) fn tanh<S: Simd>(x: f32) -> f32 {
    let y = -2.0 * x.abs();
    let y = if y < -40.0 { -40.0 } else { y };
    let (n, r) = reduce::<S>(y);
    let scale = power_of_two(n);
    let minus = S::fma(scale, exp_tail::<S>(r) + r, scale - 1.0);
    (-minus / (2.0 + minus)).copysign(x)
}

/// Natural logarithm; -infinity at 0, NaN below.
#[inline(always)]
pub(super) fn log<S: Simd>(x: f32) -> f32 {
    let tiny = x < f32::MIN_POSITIVE;
    let bits = (if tiny { x * 8_388_608.0 } else { x }).to_bits() as i32;
    // x = 2^n m with sqrt(1/2) ≤ m < sqrt(2).
    let n = bits.wrapping_sub(0x3f35_04f3) >> 23;
    let m = f32::from_bits(bits.wrapping_sub(n << 23) as u32) - 1.0;
    let n = n as f32 - if tiny { 23.0 } else { 0.0 };
    let square = m * m;
    let mut p = S::fma(7.037_683_6e-2, m, -1.151_461e-1);
    p = S::fma(p, m, 1.167_699_9e-1);
    p = S::fma(p, m, -1.242_014_1e-1);
    p = S::fma(p, m, 1.424_932_3e-1);
    p = S::fma(p, m, -1.666_805_8e-1);
    p = S::fma(p, m, 2.000_071_5e-1);
    p = S::fma(p, m, -2.499_999_4e-1);
    p = S::fma(p, m, 3.333_333e-1);
    let tail = S::fma(n, LN2_LOW, p * m * square);
    let y = S::fma(n, LN2_HIGH, m + S::fma(-0.5, square, tail));
    let y = if x < f32::INFINITY { y } else { x };
    let below = if x == 0.0 { f32::NEG_INFINITY } else { f32::NAN };
    if x > 0.0 { y } else { below }
}

/// sin(2π x) for |x| ≤ 1/4, to about 1e-7.
#[inline(always)]
pub(super) fn sin_turns<S: Simd>(x: f32) -> f32 {
    let z = x * std::f32::consts::TAU;
    let square = z * z;
    let mut p = S::fma(-2.505_210_8e-8, square, 2.755_731_9e-6);
    p = S::fma(p, square, -1.984_127e-4);
    p = S::fma(p, square, 8.333_334e-3);
    p = S::fma(p, square, -0.166_666_67);
    S::fma(p * square, z, z)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_simd::{Lanes, Portable, VectorLevel};

    /// Products and sums with one rounding, on any machine.
    #[derive(Clone, Copy)]
    struct Fused;
    impl Simd for Fused {
        type V = Lanes;
        const LEVEL: VectorLevel = VectorLevel::Portable;
        const HAS_FMA: bool = true;
        fn fma(a: f32, b: f32, c: f32) -> f32 {
            a.mul_add(b, c)
        }
    }

    /// Largest relative error over floats from `low` to `high`, about two million of them, evenly spaced in bits.
    fn worst(low: f32, high: f32, f: impl Fn(f32) -> f32, exact: impl Fn(f64) -> f64) -> f64 {
        let (a, b) = (low.to_bits(), high.to_bits());
        let step = ((b - a) / 2_000_000).max(1);
        let mut worst = 0.0f64;
        for bits in (a..=b).step_by(step as usize) {
            for x in [f32::from_bits(bits), -f32::from_bits(bits)] {
                let want = exact(x as f64);
                if want.is_nan() || want.abs() < f32::MIN_POSITIVE as f64 || want.abs() > f32::MAX as f64 {
                    continue;
                }
                let error = ((f(x) as f64 - want) / want).abs();
                assert!(!error.is_nan(), "at {x}");
                worst = worst.max(error);
            }
        }
        worst
    }

    fn accurate<S: Simd>() {
        let sigmoid_exact = |x: f64| 1.0 / (1.0 + (-x).exp());
        let results = [
            ("exp", worst(0.0, 90.0, exp::<S>, f64::exp)),
            ("sigmoid", worst(0.0, 200.0, sigmoid::<S>, sigmoid_exact)),
            ("tanh", worst(1e-37, 200.0, tanh::<S>, f64::tanh)),
            ("log", worst(0.0, f32::MAX, log::<S>, f64::ln)),
            ("log near 1", worst(0.9, 1.1, log::<S>, f64::ln)),
        ];
        for (name, error) in results {
            println!("{name}: {error:.2e}");
            assert!(error <= 3e-7, "{name}: {error:e}");
        }
        let sine = (0..1000).map(|i| i as f32 / 4000.0);
        let error = sine.map(|x| (sin_turns::<S>(x) as f64 - (x as f64 * std::f64::consts::TAU).sin()).abs());
        assert!(error.fold(0.0, f64::max) < 2e-7);
    }

    fn special_values<S: Simd>() {
        let infinity = f32::INFINITY;
        for f in [exp::<S>, sigmoid::<S>, tanh::<S>, log::<S>] {
            assert!(f(f32::NAN).is_nan());
        }
        assert_eq!([exp::<S>(0.0), exp::<S>(-infinity), exp::<S>(infinity)], [1.0, 0.0, infinity]);
        assert_eq!([exp::<S>(-1e30), exp::<S>(88.73), exp::<S>(f32::MAX)], [0.0, infinity, infinity]);
        assert!(exp::<S>(88.72).is_finite());
        assert_eq!([sigmoid::<S>(0.0), sigmoid::<S>(infinity), sigmoid::<S>(-infinity)], [0.5, 1.0, 0.0]);
        assert_eq!([tanh::<S>(0.0), tanh::<S>(infinity), tanh::<S>(-infinity)], [0.0, 1.0, -1.0]);
        assert_eq!([log::<S>(1.0), log::<S>(0.0), log::<S>(infinity)], [0.0, -infinity, infinity]);
        assert!(log::<S>(-1.0).is_nan() && log::<S>(-infinity).is_nan());
        assert!((log::<S>(1e-42) - (1e-42f32 as f64).ln() as f32).abs() < 1e-4);
    }

    #[test]
    fn portable() {
        accurate::<Portable>();
        special_values::<Portable>();
    }

    #[test]
    fn fused() {
        accurate::<Fused>();
        special_values::<Fused>();
    }
}
