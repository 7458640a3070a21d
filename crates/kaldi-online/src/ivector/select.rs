//! Posteriors of the Gaussians of a mixture (`VectorToPosteriorEntry` of `hmm/posterior.cc`).

use kaldi_gmm::DiagGmm;

use crate::error::{Error, Result};
use kaldi_ivector::FramePosteriors;

/// A mixture in a form for many frames. Everything is in `f32`, as in the reference.
#[derive(Debug)]
pub struct GaussianSelector {
    /// The logarithm of each Gaussian's weighted density at 0.
    gconsts: Vec<f32>,
    /// A row for each dimension: means over variances of all Gaussians.
    means: Vec<f32>,
    /// A row for each dimension: −1 / 2 variances of all Gaussians.
    halves: Vec<f32>,
    dim: usize,
}

impl GaussianSelector {
    pub fn new(mixture: &DiagGmm) -> Self {
        let (count, dim) = (mixture.num_gauss(), mixture.dim());
        let mut out = GaussianSelector {
            gconsts: mixture.gconsts().to_vec(),
            means: Vec::with_capacity(count * dim),
            halves: Vec::with_capacity(count * dim),
            dim,
        };
        for d in 0..dim {
            out.means.extend((0..count).map(|g| mixture.means_invvars().get(g, d)));
            out.halves.extend((0..count).map(|g| -0.5 * mixture.inv_vars().get(g, d)));
        }
        out
    }

    pub fn num_gauss(&self) -> usize {
        self.gconsts.len()
    }
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The logarithm of each Gaussian's weighted density at a frame.
    pub(crate) fn log_likelihoods(&self, frame: &[f32]) -> Vec<f32> {
        let count = self.num_gauss();
        let mut out = self.gconsts.clone();
        let rows = self.means.chunks_exact(count).zip(self.halves.chunks_exact(count));
        for (&x, (means, halves)) in frame.iter().zip(rows) {
            let square = x * x;
            for ((out, mean), half) in out.iter_mut().zip(means).zip(halves) {
                *out += x * mean + square * half;
            }
        }
        out
    }

    /// The posteriors of at most `most` Gaussians, the largest first and 1 in sum, without those below `least` (between 0
    /// and 1). The second result is the log-likelihood of the frame by these Gaussians.
    pub(crate) fn posteriors(
        &self,
        frame: &[f32],
        most: usize,
        least: f32,
    ) -> Result<(FramePosteriors, f32)> {
        let likelihoods = self.log_likelihoods(frame);
        kaldi_gmm::selection::posterior_entry(&likelihoods, most, least)
            .map_err(|e| Error::data(format!("a frame has {e}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_io::testing::from_text;

    /// Four Gaussians of one dimension with unit variance at 0, 1, 2 and 10.
    fn mixture() -> DiagGmm {
        from_text(
            "<DiagGMM> <WEIGHTS> [ 0.25 0.25 0.4 0.1 ] <MEANS_INVVARS> [\n0\n1\n2\n10 ]\n\
             <INV_VARS> [\n1\n1\n1\n1 ]\n</DiagGMM> ",
        )
        .unwrap()
    }

    fn density(weight: f64, mean: f64, x: f64) -> f64 {
        weight * (-0.5 * (x - mean).powi(2)).exp() / (2.0 * std::f64::consts::PI).sqrt()
    }

    #[test]
    fn densities() {
        let selector = GaussianSelector::new(&mixture());
        assert_eq!((selector.num_gauss(), selector.dim()), (4, 1));
        for x in [-1.0f32, 0.25, 9.0] {
            let found = selector.log_likelihoods(&[x]);
            for ((found, weight), mean) in found.iter().zip([0.25, 0.25, 0.4, 0.1]).zip([0.0, 1.0, 2.0, 10.0])
            {
                assert!((f64::from(*found) - density(weight, mean, x.into()).ln()).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn the_best_few_are_taken() {
        let selector = GaussianSelector::new(&mixture());
        let at_one = [density(0.25, 0.0, 1.0), density(0.25, 1.0, 1.0), density(0.4, 2.0, 1.0)];
        let check = |most, least, expected: &[usize]| {
            let (found, likelihood) = selector.posteriors(&[1.0], most, least).unwrap();
            assert_eq!(found.iter().map(|p| p.0).collect::<Vec<_>>(), expected);
            let total: f64 = expected.iter().map(|&g| at_one[g]).sum();
            assert!((f64::from(likelihood) - total.ln()).abs() < 1e-5);
            for (g, posterior) in found {
                assert!((f64::from(posterior) - at_one[g] / total).abs() < 1e-5);
            }
        };
        // The densities are in the ratio 0.379 : 0.25 … : 0.606 of 0.25 : 0.25 : 0.4.
        check(5, 0.025, &[1, 2, 0]);
        check(2, 0.025, &[1, 2]);
        check(3, 0.0, &[1, 2, 0]);
        // Within the limit of the best, but not of the sum: the last goes, and then the others are enough.
        check(5, 0.25, &[1, 2]);
        check(5, 0.99, &[1]);
        assert!(selector.posteriors(&[f32::NAN], 5, 0.025).is_err());
        assert!(selector.posteriors(&[f32::INFINITY], 5, 0.025).is_err());
    }
}
