//! Random numbers made of C's `rand()`, with the reference's formulas.

/// A source of integers, uniform between 0 and `i32::MAX`, such as C's `rand()`.
pub type Rand<'a> = &'a mut dyn FnMut() -> i32;

/// Random numbers and decisions, as the reference makes them of C's `rand()`.
pub trait Chance {
    /// Draws an integer between 0 and `i32::MAX`.
    fn rand(&mut self) -> i32;
    /// Draws an integer between `first` and `last`, both included. Draws nothing if they are equal.
    fn int(&mut self, first: i32, last: i32) -> i32;
    /// Returns true with this probability. Draws nothing for 0 and 1.
    fn with_probability(&mut self, probability: f32) -> bool;
    /// Draws normally distributed numbers, from a stream of their own that begins with a number of `rand`.
    fn normals(&mut self, count: usize) -> Vec<f32>;
}

/// Draws a number between 0 and 1, both excluded.
pub fn uniform(rand: Rand<'_>) -> f32 {
    ((f64::from(rand()) + 1.0) / (f64::from(i32::MAX) + 2.0)) as f32
}

/// Draws a normally distributed number (Box-Muller: √(−2 ln U₁) · cos(2πU₂)).
pub fn gauss(rand: Rand<'_>) -> f32 {
    let radius = (-2.0 * uniform(rand).ln()).sqrt();
    radius * ((2.0 * std::f64::consts::PI * f64::from(uniform(rand))) as f32).cos()
}

/// Replaces a value below `threshold` by `threshold` or by 0, so that its expectation stays. Draws one number for each value
/// that is not 0 and below the threshold; the sign stays.
pub fn prune(value: f32, threshold: f32, rand: Rand<'_>) -> f32 {
    if value == 0.0 || value.abs() >= threshold {
        value
    } else if uniform(rand) <= value.abs() / threshold {
        threshold.copysign(value)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(uniform(&mut || 0), 1.0 / 2_147_483_649.0f64 as f32);
        assert_eq!(uniform(&mut || i32::MAX / 2), 0.5);
        // U₁ = 1/2, U₂ = 1/2: −√(2 ln 2).
        assert!((gauss(&mut || i32::MAX / 2) + (2.0 * 2f32.ln()).sqrt()).abs() < 1e-6);
    }

    #[test]
    fn pruning_keeps_expectations() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut rand = || random.i32(0..=i32::MAX);
        let sum: f32 = (0..100_000).map(|_| prune(-0.05, 0.2, &mut rand)).sum();
        assert!((sum / 100_000.0 + 0.05).abs() < 2e-3, "{sum}");
        let mut no = || panic!("nothing is to be drawn");
        assert_eq!(
            [prune(0.0, 0.5, &mut no), prune(0.5, 0.5, &mut no), prune(0.1, 0.0, &mut no)],
            [0.0, 0.5, 0.1]
        );
    }
}
