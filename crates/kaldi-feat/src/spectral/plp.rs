//! Perceptual linear prediction: cepstra of an all-pole model of the compressed auditory spectrum (Hermansky, 1990).

use std::f64::consts::PI;

use super::frames::dot;
use super::lifter::lifter_scale;

/// Parameters of PLP cepstra.
#[derive(Debug, Clone, PartialEq)]
pub struct PlpOptions {
    /// Number of cepstra; the zeroth one counts. At most one more than `lpc_order`.
    pub num_ceps: usize,
    /// Order of the linear prediction.
    pub lpc_order: usize,
    /// Exponent of the mel energies: the power law of loudness.
    pub compress_factor: f32,
    /// Scale of the higher cepstra; 0 for none.
    pub cepstral_lifter: f32,
    /// Factor of all cepstra.
    pub cepstral_scale: f32,
}

/// Least factor by which a prediction coefficient reduces the residual energy.
const LEAST_RESIDUAL: f32 = 1e-5;

/// Sensitivity of the ear at a frequency in Hz: (f²/(f²+1.6·10⁵))² · (f²+1.44·10⁶)/(f²+9.61·10⁶).
pub(super) fn equal_loudness(frequency: f32) -> f32 {
    let square = frequency * frequency;
    let rise = square / (square + 1.6e5);
    rise * rise * ((square + 1.44e6) / (square + 9.61e6))
}

/// Makes cepstra of mel energies.
pub(super) struct Plp {
    options: PlpOptions,
    /// Cosines that make autocorrelations of the spectrum, a row a lag from 0 to the order.
    cosines: Vec<f32>,
    scales: Vec<f32>,
    /// The compressed spectrum; its first and last values occur twice.
    spectrum: Vec<f32>,
    autocorrelation: Vec<f32>,
    prediction: Vec<f32>,
    before: Vec<f32>,
    cepstrum: Vec<f32>,
}

impl Plp {
    pub fn new(options: &PlpOptions, bins: usize) -> Plp {
        let (points, order) = (bins + 2, options.lpc_order);
        let last = points - 1;
        let cosine = |lag: usize, j: usize| {
            let weight = if j == 0 || j == last { 1.0 } else { 2.0 };
            weight * (PI * (lag * j) as f64 / last as f64).cos() / (2 * last) as f64
        };
        Plp {
            cosines: (0..=order).flat_map(|lag| (0..points).map(move |j| cosine(lag, j) as f32)).collect(),
            scales: (0..options.num_ceps)
                .map(|k| lifter_scale(options.cepstral_lifter, k) as f32 * options.cepstral_scale)
                .collect(),
            spectrum: vec![0.0; points],
            autocorrelation: vec![0.0; order + 1],
            prediction: vec![0.0; order],
            before: vec![0.0; order],
            cepstrum: vec![0.0; order],
            options: options.clone(),
        }
    }

    /// Makes the cepstra of a frame. `loudness` has the sensitivity at the centre of each bin. In silence all energies
    /// are 0, and the result is NaN, as in the reference.
    pub fn cepstra(&mut self, energies: &[f32], loudness: &[f32], out: &mut [f32]) {
        let bins = energies.len();
        for (x, (energy, loudness)) in self.spectrum[1..].iter_mut().zip(energies.iter().zip(loudness)) {
            *x = (energy * loudness).powf(self.options.compress_factor);
        }
        self.spectrum[0] = self.spectrum[1];
        self.spectrum[bins + 1] = self.spectrum[bins];
        let rows = self.cosines.chunks_exact(self.spectrum.len());
        for (r, row) in self.autocorrelation.iter_mut().zip(rows) {
            *r = dot(row, &self.spectrum);
        }
        let residual = self.predict();
        // The reference takes the smallest normal number as a floor of the logarithm.
        let log_residual = residual.ln();
        out[0] = if log_residual < f32::MIN_POSITIVE { f32::MIN_POSITIVE } else { log_residual };
        self.make_cepstrum();
        let higher = out.len() - 1;
        out[1..].copy_from_slice(&self.cepstrum[..higher]);
        out.iter_mut().zip(&self.scales).for_each(|(x, scale)| *x *= scale);
    }

    /// Solves for the prediction coefficients by the recursion of Levinson and Durbin. Returns the residual energy.
    fn predict(&mut self) -> f32 {
        let (r, a) = (&self.autocorrelation, &mut self.prediction);
        let mut residual = r[0];
        for i in 0..a.len() {
            let correlation: f32 = (0..i).map(|j| a[j] * r[i - j]).sum();
            let reflection = (r[i + 1] + correlation) / residual;
            let reduction = 1.0 - reflection * reflection;
            residual *= if reduction < LEAST_RESIDUAL { LEAST_RESIDUAL } else { reduction };
            self.before[..i].copy_from_slice(&a[..i]);
            a[i] = -reflection;
            let mirrored = self.before[..i].iter().rev();
            a[..i].iter_mut().zip(mirrored).for_each(|(a, before)| *a -= reflection * before);
        }
        residual
    }

    /// Makes the cepstrum of the all-pole model, without its zeroth value.
    fn make_cepstrum(&mut self) {
        let (a, c) = (&self.prediction, &mut self.cepstrum);
        for k in 0..a.len() {
            let sum: f32 = (0..k).map(|j| (k - j) as f32 * a[j] * c[k - j - 1]).sum();
            c[k] = -a[k] - sum / (k + 1) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Numbers, assert_close};

    const OPTIONS: PlpOptions = PlpOptions {
        num_ceps: 7,
        lpc_order: 6,
        compress_factor: 0.5,
        cepstral_lifter: 0.0,
        cepstral_scale: 1.0,
    };

    /// The prediction must solve Σⱼ aⱼ r|i−j| = −rᵢ. The cepstrum must belong to the model: ln(E/|1 + Σ a z⁻ʲ|²) as a
    /// series.
    #[test]
    fn the_model_and_its_cepstrum() {
        let mut numbers = Numbers(3);
        let energies: Vec<f32> = (0..12).map(|_| (50.0 + 45.0 * numbers.next()) as f32).collect();
        let mut plp = Plp::new(&OPTIONS, 12);
        let mut out = [0.0; 7];
        plp.cepstra(&energies, &[1.0; 12], &mut out);
        let r: Vec<f64> = (0..=6usize)
            .map(|lag| {
                let e = |j: usize| f64::from(energies[j.clamp(1, 12) - 1]).sqrt();
                let sum: f64 = (1..13).map(|j| 2.0 * e(j) * (PI * (lag * j) as f64 / 13.0).cos()).sum();
                (e(0) + e(13) * (PI * lag as f64).cos() + sum) / 26.0
            })
            .collect();
        let a: Vec<f64> = plp.prediction.iter().map(|&a| f64::from(a)).collect();
        for i in 1..=6usize {
            let sum: f64 = (1..=6usize).map(|j| a[j - 1] * r[i.abs_diff(j)]).sum();
            assert!((sum + r[i]).abs() < 1e-5 * r[0], "row {i}: {sum} for {}", -r[i]);
        }
        let residual = r[0] + (1..=6).map(|j| a[j - 1] * r[j]).sum::<f64>();
        // The cepstrum by a Fourier sum over the logarithm of the model's spectrum.
        let cepstrum = |k: usize| {
            let points = 4096;
            let sum: f64 = (0..points)
                .map(|p| {
                    let w = 2.0 * PI * f64::from(p) / f64::from(points);
                    let re = 1.0 + (1..=6).map(|j| a[j - 1] * (w * j as f64).cos()).sum::<f64>();
                    let im: f64 = (1..=6).map(|j| a[j - 1] * (w * j as f64).sin()).sum();
                    (residual / (re * re + im * im)).ln() * (w * k as f64).cos()
                })
                .sum();
            sum / f64::from(points)
        };
        assert_close(&out[..1], &[residual.ln()], 1e-5);
        assert_close(&out[1..], &(1..7).map(cepstrum).collect::<Vec<_>>(), 1e-4);
    }

    #[test]
    fn scales() {
        let energies = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0];
        let cepstra = |options: &PlpOptions| {
            let mut out = vec![0.0; options.num_ceps];
            Plp::new(options, 7).cepstra(&energies, &[0.5; 7], &mut out);
            out
        };
        let plain = cepstra(&OPTIONS);
        let scaled =
            cepstra(&PlpOptions { num_ceps: 3, cepstral_lifter: 10.0, cepstral_scale: 2.0, ..OPTIONS });
        let lift = |k: f64| 2.0 * (1.0 + 5.0 * (PI * k / 10.0).sin());
        let expected: Vec<f64> = (0..3).map(|k| f64::from(plain[k]) * lift(k as f64)).collect();
        assert_close(&scaled, &expected, 1e-5);
        assert_close(&[equal_loudness(1000.0)], &[(1.0f64 / 1.16).powi(2) * 2.44 / 10.61], 1e-6);
    }
}
