//! A first extractor, made of a mixture of Gaussians.

use kaldi_gmm::FullGmm;
use kaldi_gmm::random::Rand;
use kaldi_io::DenseMatrix;

use crate::error::{Error, Result};
use crate::extractor::{IvectorExtractor, Weights};
use crate::products::store;
use crate::random::normal_matrix;

/// The offset of the prior of a first extractor.
const OFFSET: f64 = 100.0;

/// Makes an extractor for i-vectors of dimension `ivector_dim`. Each M_g has normal random numbers, from a stream of `rand`
/// of its own. Column 0 is the mean of the Gaussian divided by the prior's offset (100). So the mean of the prior gives the
/// mixture's means. With `regression`, weights depend on the i-vector, at first by W = 0; otherwise they are those of the
/// mixture.
///
/// # Errors
/// If `ivector_dim` is 0, or a covariance of the mixture cannot be inverted.
pub fn initialize(
    mixture: &FullGmm,
    ivector_dim: usize,
    regression: bool,
    rand: Rand<'_>,
) -> Result<IvectorExtractor> {
    if ivector_dim == 0 {
        return Err(Error::options("`ivector-dim`=0: expected a dimension above 0"));
    }
    let mut projections = Vec::with_capacity(mixture.num_gauss());
    for g in 0..mixture.num_gauss() {
        let mut m = normal_matrix(mixture.dim(), ivector_dim, rand);
        m.column_mut(0).iter_mut().zip(mixture.mean(g)?).for_each(|(x, mean)| *x = mean / OFFSET);
        let mut projection = DenseMatrix::new(mixture.dim(), ivector_dim);
        store(&m, &mut projection.data);
        projections.push(projection);
    }
    let weights = match regression {
        true => Weights::Regression(DenseMatrix::new(mixture.num_gauss(), ivector_dim)),
        false => Weights::Fixed(mixture.weights().iter().map(|&w| w.into()).collect()),
    };
    let inverse_covariances = mixture.inv_covars().iter().map(|s| s.convert()).collect();
    Ok(IvectorExtractor { weights, projections, inverse_covariances, prior_offset: OFFSET })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_io::SymmetricMatrix;

    #[test]
    fn the_prior_gives_the_means_of_the_mixture() {
        let inv_covars = vec![SymmetricMatrix { dim: 2, data: vec![2.0, 1.0, 2.0] }; 2];
        let means = DenseMatrix::from_rows(&[[1.0f32, 4.0], [0.0, 3.0]]);
        let mixture = FullGmm::new(vec![0.25, 0.75], means, inv_covars).unwrap();
        for regression in [false, true] {
            let mut next = 0;
            let mut rand = || {
                next += 1;
                next
            };
            let extractor = initialize(&mixture, 3, regression, &mut rand).unwrap();
            assert_eq!((extractor.num_gauss(), extractor.feature_dim(), extractor.ivector_dim()), (2, 2, 3));
            // Σ = [2 −1; −1 2] / 3.
            let expected = [[-2.0 / 3.0, 7.0 / 3.0], [-1.0, 2.0]];
            for (m, expected) in extractor.projections.iter().zip(expected) {
                assert!((0..2).all(|i| (m.row(i)[0] * extractor.prior_offset - expected[i]).abs() < 1e-6));
                assert!(m.data.iter().all(|x| x.is_finite() && *x != 0.0));
            }
            assert_ne!(extractor.projections[0].row(0)[1], extractor.projections[1].row(0)[1]);
            assert_eq!(extractor.inverse_covariances[1].data, [2.0, 1.0, 2.0]);
            match extractor.weights {
                Weights::Fixed(weights) => assert!(!regression && weights == [0.25, 0.75]),
                Weights::Regression(w) => assert!(regression && w == DenseMatrix::new(2, 3)),
            }
        }
        let error = initialize(&mixture, 0, true, &mut || 1).unwrap_err().to_string();
        assert!(error.contains("`ivector-dim`=0"), "{error}");
    }
}
