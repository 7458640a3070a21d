//! Extractors, features and posteriors for tests; not for programs.

#[cfg(test)]
use kaldi_io::Posterior;
use kaldi_io::{DenseMatrix, SymmetricMatrix};

use crate::{IvectorExtractor, Weights};

/// An extractor of so many Gaussians, feature dimensions and i-vector dimensions, made of any numbers.
pub fn extractor(
    (gaussians, rows, cols): (usize, usize, usize),
    number: &mut dyn FnMut() -> f64,
) -> IvectorExtractor {
    let mut covariance = |_| {
        let mut s = SymmetricMatrix::<f64>::new(rows);
        // L Lᵀ + I is positive definite.
        let l: Vec<f64> = (0..rows * rows).map(|_| number()).collect();
        for i in 0..rows {
            for j in 0..=i {
                let sum: f64 = (0..rows).map(|k| l[i * rows + k] * l[j * rows + k]).sum();
                s.data[SymmetricMatrix::<f64>::offset(i, j)] = sum + f64::from(u8::from(i == j));
            }
        }
        s
    };
    let inverse_covariances = (0..gaussians).map(&mut covariance).collect();
    let matrix = |_| DenseMatrix { rows, cols, data: (0..rows * cols).map(|_| number()).collect() };
    let mut weights = vec![0.5 / (gaussians - 1).max(1) as f64; gaussians];
    weights[0] = 0.5;
    IvectorExtractor {
        weights: Weights::Fixed(weights),
        projections: (0..gaussians).map(matrix).collect(),
        inverse_covariances,
        prior_offset: 12.5,
    }
}

/// An extractor of multiples of 1/4.
#[cfg(test)]
pub(crate) fn random(gaussians: usize, rows: usize, cols: usize, seed: u64) -> IvectorExtractor {
    let mut random = fastrand::Rng::with_seed(seed);
    extractor((gaussians, rows, cols), &mut || f64::from(random.i32(-6..=6)) / 4.0)
}

/// The same with weights that depend on the i-vector.
#[cfg(test)]
pub(crate) fn with_regression(mut extractor: IvectorExtractor, seed: u64) -> IvectorExtractor {
    let mut random = fastrand::Rng::with_seed(seed);
    let (rows, cols) = (extractor.num_gauss(), extractor.ivector_dim());
    let data = (0..rows * cols).map(|_| (random.f64() - 0.5) / 10.0).collect();
    extractor.weights = Weights::Regression(DenseMatrix { rows, cols, data });
    extractor
}

/// Features, and posteriors of at most three Gaussians for each frame. Some frames have no posteriors.
#[cfg(test)]
pub(crate) fn utterance(
    frames: usize,
    dim: usize,
    gaussians: usize,
    seed: u64,
) -> (DenseMatrix<f32>, Posterior) {
    let mut random = fastrand::Rng::with_seed(seed);
    let shift: Vec<f32> = (0..dim).map(|_| random.f32() * 4.0).collect();
    let data = (0..frames * dim).map(|i| shift[i % dim] + 4.0 * random.f32() - 2.0).collect();
    let posterior = (0..frames)
        .map(|_| (0..random.usize(0..=3)).map(|_| (random.i32(0..gaussians as i32), random.f32())).collect());
    (DenseMatrix { rows: frames, cols: dim, data }, posterior.collect())
}
