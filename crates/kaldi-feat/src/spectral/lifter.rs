//! Weights of cepstral coefficients.

/// Scales of cepstra: 1 + ½Q sin(πk/Q), or 1 if Q is 0.
pub(super) struct Lifter(pub f32);

impl Lifter {
    pub fn scale(&self, k: usize) -> f64 {
        let q = f64::from(self.0);
        if q == 0.0 { 1.0 } else { 1.0 + 0.5 * q * (std::f64::consts::PI * k as f64 / q).sin() }
    }
}
