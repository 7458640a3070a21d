//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Loops compiled several times, for the vector instructions that this machine turns out to have.
//!
//! A [`Kernel`] is a plain loop in an `#[inline(always)]` function. [`run`] calls a copy of it that was compiled with
//! AVX-512, with AVX2 and FMA, or with the target's minimum; LLVM's own vectoriser does the rest. [`Vector`] is for the
//! few loops that it leaves: a kernel gets the type for its level as [`Simd::V`]. The types for AVX2 and AVX-512 have no
//! public names, so that only kernels which [`run`] has chosen use them.

mod dispatch;
mod vector;

pub use dispatch::{
    Kernel, Portable, Simd, VectorLevel, run, run_plain, run_within, set_vector_level, vector_level,
};
#[cfg(target_arch = "x86_64")]
pub use vector::x86::transposed;
pub use vector::{Lanes, ROUNDER, Vector, power_of_two, rounded_integer};

#[cfg(test)]
mod tests;
