//! The forms in which devices keep the elements of matrices.

/// The form of an element. The host keeps floats only; a view of other elements is one of a device with memory of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Element {
    /// `f32`.
    #[default]
    Float,
    /// The upper half of a float: its sign, its exponent and 7 bits of mantissa (bfloat16).
    Half,
}

impl Element {
    pub const fn bytes(self) -> usize {
        match self {
            Element::Float => 4,
            Element::Half => 2,
        }
    }

    /// Returns the number of floats in whose memory this many elements fit.
    pub const fn floats(self, elements: usize) -> usize {
        (elements * self.bytes()).div_ceil(Element::Float.bytes())
    }

    /// Returns the nearest number that such an element can hold. A tie goes to the number with an even last bit.
    pub fn nearest(self, x: f32) -> f32 {
        match self {
            Element::Float => x,
            Element::Half if x.is_nan() => f32::NAN,
            Element::Half => {
                let bits = x.to_bits();
                f32::from_bits(bits.wrapping_add(0x7fff + (bits >> 16 & 1)) & 0xffff_0000)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_halves() {
        let near = |x| Element::Half.nearest(x);
        for exact in [0.0, 1.0, -2.5, 256.0, 1.0078125, f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(near(exact), exact);
        }
        // Between 1 and 1 + 2⁻⁷, and at the ties around it.
        assert_eq!((near(1.003), near(1.005)), (1.0, 1.0078125));
        assert_eq!((near(1.0 + 1.0 / 256.0), near(1.0 + 3.0 / 256.0)), (1.0, 1.015625));
        assert_eq!(near(-1.005), -1.0078125);
        // Above the largest one.
        assert_eq!(near(f32::MAX), f32::INFINITY);
        assert!(near(f32::NAN).is_nan());
        assert_eq!(Element::Float.nearest(1.003), 1.003);
    }

    #[test]
    fn memory() {
        assert_eq!([0, 1, 2, 7].map(|n| Element::Half.floats(n)), [0, 1, 1, 4]);
        assert_eq!([0, 1, 2, 7].map(|n| Element::Float.floats(n)), [0, 1, 2, 7]);
    }
}
