//! Semirings of costs.

use crate::weight::Divisible;
pub(crate) use crate::weight::quantize;

/// A semiring: its sum combines the costs of alternatives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Semiring {
    /// The smaller cost counts.
    #[default]
    Tropical,
    /// Costs are negated logarithms of probabilities, which add up.
    Log,
}

impl Semiring {
    /// The cost of two alternatives together. Infinity is the cost of an impossible path.
    pub fn plus(self, a: f32, b: f32) -> f32 {
        let (less, more) = if a <= b { (a, b) } else { (b, a) };
        match self {
            Semiring::Tropical => less,
            Semiring::Log if more == f32::INFINITY => less,
            Semiring::Log => (f64::from(less) - f64::from(less - more).exp().ln_1p()) as f32,
        }
    }
}

/// True if two costs differ by at most `delta`.
pub(crate) fn approximately_equal(a: f32, b: f32, delta: f32) -> bool {
    a.is_near(&b, delta)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives() {
        let infinity = f32::INFINITY;
        for semiring in [Semiring::Tropical, Semiring::Log] {
            assert_eq!(semiring.plus(infinity, infinity), infinity);
            assert_eq!(semiring.plus(infinity, -2.5), -2.5);
            assert_eq!(semiring.plus(1.0, infinity), 1.0);
        }
        assert_eq!(Semiring::Tropical.plus(3.0, 2.0), 2.0);
        for (a, b) in [(3.0f32, 2.0f32), (-1.0, 4.0), (0.0, 0.0)] {
            let expected = -(f64::from(-a).exp() + f64::from(-b).exp()).ln();
            assert!((f64::from(Semiring::Log.plus(a, b)) - expected).abs() < 1e-6);
            assert_eq!(Semiring::Log.plus(a, b), Semiring::Log.plus(b, a));
        }
    }

    #[test]
    fn rounding() {
        assert_eq!(quantize(0.3, 0.25), 0.25);
        assert_eq!(quantize(-0.1, 0.25).to_bits(), 0);
        assert_eq!(quantize(f32::INFINITY, 0.25), f32::INFINITY);
        assert!(approximately_equal(1.0, 1.25, 0.25) && !approximately_equal(1.0, 1.26, 0.25));
        assert!(!approximately_equal(f32::INFINITY, 1.0, 0.25));
    }
}
