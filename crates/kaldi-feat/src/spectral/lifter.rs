//! Weights of cepstral coefficients.

/// The scale of the `k`-th cepstrum: 1 + ½Q sin(πk/Q), or 1 if Q is 0.
pub(crate) fn lifter_scale(q: f32, k: usize) -> f64 {
    let q = f64::from(q);
    if q == 0.0 { 1.0 } else { 1.0 + 0.5 * q * (std::f64::consts::PI * k as f64 / q).sin() }
}
