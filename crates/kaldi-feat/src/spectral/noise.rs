//! Noise of standard normal numbers, for dithering, pitch and copies of features.

/// SplitMix64 (Steele, Lea, Flood, 2014), with two normal numbers for each draw (Box and Muller). Two runs of
/// a program make the same features.
#[derive(Debug, Clone)]
pub(crate) struct Noise {
    state: u64,
}

impl Noise {
    pub fn new() -> Noise {
        Noise { state: 0 }
    }

    /// Returns the noise of another beginning.
    pub fn with_seed(seed: u64) -> Noise {
        Noise { state: seed }
    }

    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn pair(&mut self) -> (f32, f32) {
        let z = self.draw();
        // 32 bits for the length, above 0; 32 for the angle.
        let unit = 1.0 / 4_294_967_296.0;
        let length = (-2.0 * (((z >> 32) as f32 + 0.5) * unit).ln()).sqrt();
        let (sin, cos) = (std::f32::consts::TAU * (z as u32 as f32 * unit)).sin_cos();
        (length * cos, length * sin)
    }

    /// Draws a number. (Of the pair the second one is lost.)
    pub fn next(&mut self) -> f32 {
        self.pair().0
    }

    /// Draws a number between 0 and 1, never one of these.
    pub fn uniform(&mut self) -> f64 {
        ((self.draw() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Adds `deviation` times the noise.
    pub fn add_to(&mut self, samples: &mut [f32], deviation: f32) {
        for two in samples.chunks_mut(2) {
            let (first, second) = self.pair();
            two[0] += deviation * first;
            if let Some(x) = two.get_mut(1) {
                *x += deviation * second;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_the_normal_distribution() {
        let mut samples = vec![10.0; 200_001];
        Noise::new().add_to(&mut samples, 2.0);
        let n = samples.len() as f64;
        let moment = |k: i32| samples.iter().map(|&x| ((f64::from(x) - 10.0) / 2.0).powi(k)).sum::<f64>() / n;
        for (k, expected) in [(1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0)] {
            assert!((moment(k) - expected).abs() < 0.05, "moment {k}: {}", moment(k));
        }
        let neighbours =
            samples.windows(2).map(|w| f64::from((w[0] - 10.0) * (w[1] - 10.0))).sum::<f64>() / n;
        assert!(neighbours.abs() < 0.05, "{neighbours}");
    }
}
