//! Numbers of the types that tensors may have.

use safetensors::Dtype;
use safetensors::tensor::TensorView;

/// The numbers of a tensor, if they are floating-point numbers of 16, 32 or 64 bits.
pub(super) fn decode(tensor: &TensorView<'_>) -> Option<Vec<f64>> {
    let data = tensor.data();
    let half = |from: fn(u16) -> f32| {
        data.as_chunks().0.iter().map(|bytes| f64::from(from(u16::from_le_bytes(*bytes)))).collect()
    };
    Some(match tensor.dtype() {
        Dtype::F64 => data.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect(),
        Dtype::F32 => data.as_chunks().0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes))).collect(),
        Dtype::F16 => half(from_f16),
        Dtype::BF16 => half(|bits| f32::from_bits(u32::from(bits) << 16)),
        _ => return None,
    })
}

/// IEEE's binary16: a sign, five bits of exponent, ten of fraction.
fn from_f16(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    sign * match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2f32.powi(exponent - 25),
    }
}

/// Numbers as a place of the model file wants them. The error is the first number that is not finite there, and its index.
pub(super) fn encode(values: &[f64], dtype: Dtype) -> Result<Vec<u8>, (usize, f64)> {
    let finite = |&v: &f64| if dtype == Dtype::F64 { v.is_finite() } else { (v as f32).is_finite() };
    if let Some(i) = values.iter().position(|v| !finite(v)) {
        return Err((i, values[i]));
    }
    Ok(match dtype {
        Dtype::F64 => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        _ => values.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values from the tables of IEEE 754, and all bits by way of their definition as a sum of powers of two.
    #[test]
    fn half_precision() {
        for (bits, value) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 5.960_464_5e-8),
            (0x0400, 6.103_515_6e-5),
            (0x3555, 0.333_251_95),
        ] {
            assert_eq!(from_f16(bits), value, "{bits:x}");
        }
        assert!(from_f16(0x7c01).is_nan() && from_f16(0xfc00) == f32::NEG_INFINITY);
        for bits in 0..0x7c00u16 {
            let digit = |i: u16| f64::from(bits >> i & 1);
            let fraction: f64 = (0..10).map(|i| digit(i) * 2f64.powi(i32::from(i) - 10)).sum();
            let exponent: f64 = (10..15).map(|i| digit(i) * 2f64.powi(i32::from(i) - 10)).sum();
            let value = match exponent {
                0.0 => fraction * 2f64.powi(-14),
                _ => (1.0 + fraction) * 2f64.powf(exponent - 15.0),
            };
            assert_eq!(f64::from(from_f16(bits)), value, "{bits:x}");
            assert_eq!(from_f16(bits | 0x8000), -from_f16(bits));
        }
    }
}
