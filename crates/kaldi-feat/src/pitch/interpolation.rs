//! From lags of whole samples to the lags of the search (`ArbitraryResample` of `feat/resample.cc`).

use std::f64::consts::{PI, TAU};

/// Frames that are interpolated side by side.
pub(super) const LANES: usize = 8;

/// A value for each of some frames.
pub(super) type Lanes = [f32; LANES];

/// Weights of the whole lags around a lag of the search.
#[derive(Debug)]
struct Filter {
    first: usize,
    weights: Vec<f32>,
}

/// Filters for the lags of the search: a sinc in a Hann window with the given number of zeros.
#[derive(Debug)]
pub(super) struct Interpolation {
    filters: Vec<Filter>,
}

impl Interpolation {
    /// Prepares the interpolation of values at the lags `first_lag`, `first_lag` + 1, … (`measured` of them, in samples
    /// at `rate` Hz) at the lags `lags` in seconds.
    pub fn new(rate: f32, first_lag: usize, measured: usize, lags: &[f32], zeros: usize) -> Interpolation {
        let (cutoff, zeros) = (0.5 * f64::from(rate), zeros as f64);
        let half = zeros / (2.0 * cutoff);
        let filter = |t: f64| {
            if t.abs() >= half {
                return 0.0;
            }
            let window = 0.5 * (1.0 + (TAU * cutoff / zeros * t).cos());
            window * if t == 0.0 { 2.0 * cutoff } else { (TAU * cutoff * t).sin() / (PI * t) }
        };
        let rate = f64::from(rate);
        let filters = lags.iter().map(|&lag| {
            let at = f64::from(lag) - first_lag as f64 / rate;
            let last = measured as i64 - 1;
            let first = (((at - half) * rate).ceil() as i64).clamp(0, last);
            let end = (((at + half) * rate).floor() as i64).clamp(first, last);
            let weight = |n: i64| (filter(at - n as f64 / rate) / rate) as f32;
            Filter { first: first as usize, weights: (first..=end).map(weight).collect() }
        });
        Interpolation { filters: filters.collect() }
    }

    /// The value at one lag of the search.
    pub fn one(&self, measured: &[f32], lag: usize) -> f32 {
        let Filter { first, weights } = &self.filters[lag];
        weights.iter().zip(&measured[*first..]).map(|(w, x)| w * x).sum()
    }

    /// Writes the values at all lags of the search, for some frames side by side.
    pub fn all(&self, measured: &[Lanes], out: &mut [Lanes]) {
        for (Filter { first, weights }, out) in self.filters.iter().zip(out) {
            let mut sums = [0.0; LANES];
            for (w, lanes) in weights.iter().zip(&measured[*first..]) {
                (0..LANES).for_each(|k| sums[k] += w * lanes[k]);
            }
            *out = sums;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slow cosine is interpolated correctly, and both methods agree.
    #[test]
    fn a_cosine() {
        let wave = |samples: f64| (TAU * samples / 20.0).cos();
        let measured: Vec<f32> = (8..=82).map(|lag| wave(f64::from(lag)) as f32).collect();
        let lags: Vec<f32> = (0..300).map(|i| 0.004 + 0.00004 * i as f32).collect();
        let interpolation = Interpolation::new(4000.0, 8, measured.len(), &lags, 5);
        let lanes: Vec<Lanes> = measured.iter().map(|&x| [x, 0.0, 2.0 * x, 0.0, 0.0, 0.0, 0.0, -x]).collect();
        let mut out = vec![[0.0; LANES]; lags.len()];
        interpolation.all(&lanes, &mut out);
        for (i, &lag) in lags.iter().enumerate() {
            let expected = wave(4000.0 * f64::from(lag)) as f32;
            let found = interpolation.one(&measured, i);
            assert!((found - expected).abs() < 0.01, "{lag}: {found} for {expected}");
            let close = |a: f32, b: f32| (a - b).abs() < 1e-5;
            assert!(close(out[i][0], found) && close(out[i][2], 2.0 * found) && close(out[i][7], -found));
        }
    }
}
