//! Products of factors that are rounded to bf16, with sums in `f32`.
//!
//! [`gemm`] rounds both factors block by block, [`panels`] those rows that meet weights rounded beforehand. [`pack`]
//! has the orders of rounded factors, [`tile`] the sums in registers, [`pairs`] the instructions.

mod gemm;
mod pack;
mod pairs;
mod panels;
mod speed;
#[cfg(test)]
mod tests;
mod tile;

pub(in crate::cpu) use gemm::{pays, product};
pub(in crate::cpu) use panels::{Rounded, round_weights};
pub(in crate::cpu) use speed::fastest;
use std::fmt;

/// The implementation of products in bf16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// The instructions of AVX512-BF16.
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512Bf16),
    /// Those of every processor, slowly: for tests.
    Plain,
}

/// Exists only if the processor has AVX512-BF16.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx512Bf16(());

#[cfg(target_arch = "x86_64")]
impl Kernel {
    /// Returns the kernel if the processor has the instructions.
    pub fn avx512() -> Option<Kernel> {
        pairs::x86::has_avx512_bf16().then_some(Kernel::Avx512(Avx512Bf16(())))
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512(_) => "AVX512-BF16",
            Kernel::Plain => "plain Rust",
        })
    }
}

/// Lines from a block of columns to the next, or from row to row, in memory: an odd number, so that they do not share a
/// cache's sets.
fn stride(lines: usize) -> usize {
    lines | 1
}
