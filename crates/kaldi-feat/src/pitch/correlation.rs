//! The normalised cross-correlation function of a frame.

/// Lags that are computed together.
const SIDE_BY_SIDE: usize = 32;
/// Terms of a sum that are added one after the other.
const TERMS: usize = 16;

/// Compares frames with themselves some samples later.
#[derive(Debug)]
pub(super) struct Correlation {
    window: usize,
    first_lag: usize,
    lags: usize,
    /// The frame up to its end at the longest lag, less the mean of its first `window` samples; then zeros.
    frame: Vec<f32>,
    /// Σ z[i] z[i+l] for each lag.
    products: Vec<f32>,
    /// e(0) e(l) for each lag, where e(l) = Σ z[i+l]².
    norms: Vec<f32>,
}

impl Correlation {
    /// Prepares the lags `first_lag` to `last_lag` of frames of `window` samples.
    pub fn new(window: usize, first_lag: usize, last_lag: usize) -> Correlation {
        let lags = last_lag + 1 - first_lag;
        Correlation {
            window,
            first_lag,
            lags,
            frame: vec![0.0; window + last_lag + SIDE_BY_SIDE],
            products: vec![0.0; lags],
            norms: vec![0.0; lags],
        }
    }

    /// The number of lags.
    pub fn lags(&self) -> usize {
        self.lags
    }

    /// The place for the samples of a frame, up to its end at the longest lag.
    pub fn samples(&mut self) -> &mut [f32] {
        let span = self.window + self.first_lag + self.lags - 1;
        &mut self.frame[..span]
    }

    /// Compares the frame in [`Correlation::samples`] with its delayed versions.
    pub fn compute(&mut self) {
        let window = self.window;
        let samples = self.samples();
        let mean = (samples[..window].iter().map(|&x| f64::from(x)).sum::<f64>() / window as f64) as f32;
        samples.iter_mut().for_each(|x| *x -= mean);
        self.energies();
        let mut at = 0;
        while at < self.lags {
            let z = &self.frame[self.first_lag + at..];
            let left = self.lags - at;
            let out = &mut self.products[at..];
            if left > SIDE_BY_SIDE / 2 {
                products::<SIDE_BY_SIDE>(&self.frame[..window], z, out);
                at += SIDE_BY_SIDE;
            } else {
                products::<{ SIDE_BY_SIDE / 2 }>(&self.frame[..window], z, out);
                at += SIDE_BY_SIDE / 2;
            }
        }
    }

    fn energies(&mut self) {
        let square = |i: usize| f64::from(self.frame[i]) * f64::from(self.frame[i]);
        let first: f64 = (0..self.window).map(square).sum();
        let mut energy: f64 = (self.first_lag..self.first_lag + self.window).map(square).sum();
        for (i, norm) in self.norms.iter_mut().enumerate() {
            *norm = (first * energy.max(0.0)) as f32;
            let start = self.first_lag + i;
            energy += square(start + self.window) - square(start);
        }
    }

    /// Mean of e(0) e(l) over the lags.
    pub fn mean_norm(&self) -> f64 {
        self.norms.iter().map(|&norm| f64::from(norm)).sum::<f64>() / self.lags as f64
    }

    /// Returns Σ z[i] z[i+l] / √(e(0) e(l) + `ballast`) for each lag. It is 0 if the root is 0.
    pub fn normalized(&self, ballast: f32) -> impl Iterator<Item = f32> {
        self.products.iter().zip(&self.norms).map(move |(product, norm)| {
            let root = (norm + ballast).sqrt();
            if root == 0.0 { 0.0 } else { product / root }
        })
    }
}

/// Writes Σ a[i] b[i+l] for the first lags l; `b` must have N values more than `a`. Sums of few terms are summed, for
/// the sake of rounding.
fn products<const N: usize>(a: &[f32], b: &[f32], out: &mut [f32]) {
    let mut sums = [0.0f32; N];
    for (part, a) in a.chunks(TERMS).enumerate() {
        let mut some = [0.0f32; N];
        for (i, &x) in a.iter().enumerate() {
            if let Some(later) = b[part * TERMS + i..].first_chunk::<N>() {
                (0..N).for_each(|k| some[k] += x * later[k]);
            }
        }
        (0..N).for_each(|k| sums[k] += some[k]);
    }
    out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Numbers, assert_close};

    /// All lags against sums in double precision.
    #[test]
    fn the_definition() {
        for (window, first, last) in [(100, 8, 82), (30, 0, 0), (17, 3, 18), (50, 5, 52)] {
            let mut correlation = Correlation::new(window, first, last);
            let mut numbers = Numbers(7);
            let x: Vec<f64> = (0..window + last).map(|_| 1000.0 * numbers.next() + 50.0).collect();
            correlation.samples().iter_mut().zip(&x).for_each(|(z, x)| *z = *x as f32);
            correlation.compute();
            let mean = x[..window].iter().sum::<f64>() / window as f64;
            let sum =
                |a: usize, b: usize| (0..window).map(|i| (x[a + i] - mean) * (x[b + i] - mean)).sum::<f64>();
            let ballast = 1e9;
            let expected: Vec<f64> = (first..=last)
                .map(|lag| sum(0, lag) / (sum(0, 0) * sum(lag, lag) + ballast).sqrt())
                .collect();
            let found: Vec<f32> = correlation.normalized(ballast as f32).collect();
            assert_close(&found, &expected, 1e-5);
            let norm = (first..=last).map(|lag| sum(0, 0) * sum(lag, lag)).sum::<f64>();
            let mean = norm / (last + 1 - first) as f64;
            assert!((correlation.mean_norm() / mean - 1.0).abs() < 1e-5);
        }
        let mut silent = Correlation::new(10, 1, 5);
        silent.samples().fill(3.0);
        silent.compute();
        assert!(silent.normalized(0.0).all(|x| x == 0.0) && silent.mean_norm() == 0.0);
    }
}
