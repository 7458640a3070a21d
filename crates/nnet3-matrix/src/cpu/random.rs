//! Counter-based random numbers: element (i, j) is a hash of the key and i · cols + j. So any device, in any order and
//! with any stride, makes the same numbers.
//!
//! The hash is splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014) started from the
//! hashed key. Uniform: (top 23 bits + 1/2) / 2^23, exactly. Normal: Box and Muller's cosine branch, radius from the
//! top 31 bits, angle from the low 32; equal on all devices up to rounding.

use super::CpuBackend;
use super::access::destination;
use super::math;
use crate::backend::RandomNumbers;
use crate::view::ViewMut;
use kaldi_simd::{self as simd, Kernel, Simd};

/// 2^64 divided by the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline(always)]
fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

trait Distribution: Copy {
    /// Makes a number of 64 random bits.
    fn number<S: Simd>(self, bits: u64) -> f32;
}

#[derive(Clone, Copy)]
struct Uniform;

impl Distribution for Uniform {
    #[inline(always)]
    fn number<S: Simd>(self, bits: u64) -> f32 {
        const HALF: f32 = 1.0 / 16_777_216.0;
        f32::from_bits(0x3f80_0000 | (bits >> 41) as u32) - (1.0 - HALF)
    }
}

#[derive(Clone, Copy)]
struct Normal;

impl Distribution for Normal {
    #[inline(always)]
    fn number<S: Simd>(self, bits: u64) -> f32 {
        let u = ((bits >> 33) as i32 as f32 + 0.5) * (1.0 / 2_147_483_648.0);
        let radius = (-2.0 * math::log::<S>(u)).sqrt();
        // cos(2π v) for v in [-1/2, 1/2].
        let v = (bits as u32 as i32 as f32) * (1.0 / 4_294_967_296.0);
        radius * math::sin_turns::<S>(0.25 - v.abs())
    }
}

struct Fill<'a, D> {
    dst: ViewMut<'a>,
    key: u64,
    distribution: D,
}

impl<D: Distribution> Kernel for Fill<'_, D> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self) {
        let Fill { dst, key, distribution } = self;
        let start = mix(key.wrapping_add(STEP)).wrapping_add(STEP);
        let mut dst = destination(dst);
        let cols = dst.cols() as u64;
        for i in 0..dst.rows() {
            let mut state = start.wrapping_add((i as u64).wrapping_mul(cols).wrapping_mul(STEP));
            for x in dst.row(i) {
                *x = distribution.number::<S>(mix(state));
                state = state.wrapping_add(STEP);
            }
        }
    }
}

impl RandomNumbers for CpuBackend {
    fn fill_uniform(&self, dst: ViewMut<'_>, key: u64) {
        simd::run(Fill { dst, key, distribution: Uniform })
    }
    fn fill_normal(&self, dst: ViewMut<'_>, key: u64) {
        simd::run(Fill { dst, key, distribution: Normal })
    }
}
