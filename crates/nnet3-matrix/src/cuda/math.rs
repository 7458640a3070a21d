//! Precision of products on a GPU.

use crate::element::Element;
use std::fmt;
use std::str::FromStr;

/// The arithmetic of matrix products, and the memory between layers; all other operations are in `f32` and `f64`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GpuMath {
    /// `f32` throughout.
    #[default]
    Fp32,
    /// Factors rounded to 10 bits of mantissa, sums in `f32`.
    Tf32,
    /// Factors rounded to 7 bits of mantissa, sums in `f32`. Values and derivatives between layers are kept in this form.
    Bf16,
}

impl GpuMath {
    /// The form of values and derivatives between layers.
    pub fn between_layers(self) -> Element {
        match self {
            GpuMath::Fp32 | GpuMath::Tf32 => Element::Float,
            GpuMath::Bf16 => Element::Half,
        }
    }

    /// Bits of mantissa that a product keeps of its factors.
    pub fn factor_bits(self) -> u32 {
        match self {
            GpuMath::Fp32 => 23,
            GpuMath::Tf32 => 10,
            GpuMath::Bf16 => 7,
        }
    }
}

impl fmt::Display for GpuMath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GpuMath::Fp32 => "fp32",
            GpuMath::Tf32 => "tf32",
            GpuMath::Bf16 => "bf16",
        })
    }
}

/// Neither fp32, tf32 nor bf16.
#[derive(Debug, thiserror::Error)]
#[error("expected fp32, tf32 or bf16, found '{0}'")]
pub struct UnknownMath(String);

impl FromStr for GpuMath {
    type Err = UnknownMath;
    fn from_str(text: &str) -> Result<GpuMath, UnknownMath> {
        match text {
            "fp32" => Ok(GpuMath::Fp32),
            "tf32" => Ok(GpuMath::Tf32),
            "bf16" => Ok(GpuMath::Bf16),
            other => Err(UnknownMath(other.to_string())),
        }
    }
}
