//! The arithmetic of products on the host.

use super::products::bf16::{self, Kernel};
use super::{CpuBackend, cpu};
use crate::memory::Device;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

/// The form in which products take their factors; sums are in `f32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CpuMath {
    /// `f32`.
    #[default]
    Fp32,
    /// Factors rounded to 7 bits of mantissa as they are copied for the product.
    Bf16,
}

impl CpuMath {
    pub const NAMES: [&str; 2] = ["fp32", "bf16"];
}

impl fmt::Display for CpuMath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CpuMath::Fp32 => "fp32",
            CpuMath::Bf16 => "bf16",
        })
    }
}

/// Neither fp32 nor bf16.
#[derive(Debug, thiserror::Error)]
#[error("expected fp32 or bf16, found '{0}'")]
pub struct UnknownCpuMath(String);

impl FromStr for CpuMath {
    type Err = UnknownCpuMath;
    fn from_str(text: &str) -> Result<CpuMath, UnknownCpuMath> {
        match text {
            "fp32" => Ok(CpuMath::Fp32),
            "bf16" => Ok(CpuMath::Bf16),
            other => Err(UnknownCpuMath(other.to_owned())),
        }
    }
}

/// The reason why products in bf16 would not be faster on this processor.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum NoBf16 {
    #[error("this processor has no AVX512-BF16")]
    Missing,
    /// Products in bf16 for each one in floats, in the same time.
    #[error("this processor multiplies {rate:.2} times as fast in bf16 as in floats")]
    Slow { rate: f64 },
}

/// The form of factors in products of a backend of the host.
#[derive(Clone, Copy)]
pub(super) enum Arithmetic {
    Floats,
    Halves(Kernel),
}

/// The host as a device that multiplies so. Memory of one is memory of the other. Returns an error if bf16 would not be
/// faster; the first call measures that for 50 microseconds.
pub fn cpu_with(math: CpuMath) -> Result<Device, NoBf16> {
    static HALVES: OnceLock<Result<Arc<CpuBackend>, NoBf16>> = OnceLock::new();
    if math == CpuMath::Fp32 {
        return Ok(cpu());
    }
    let device = HALVES.get_or_init(|| Ok(with_kernel(bf16::fastest()?)));
    device.clone().map(|device| device as Device)
}

/// The host as a device that rounds factors to bf16 and multiplies in plain Rust, slowly: for tests.
pub fn cpu_with_plain_bf16() -> Device {
    static PLAIN: OnceLock<Arc<CpuBackend>> = OnceLock::new();
    PLAIN.get_or_init(|| with_kernel(Kernel::Plain)).clone()
}

fn with_kernel(kernel: Kernel) -> Arc<CpuBackend> {
    Arc::new(CpuBackend { arithmetic: Arithmetic::Halves(kernel) })
}
