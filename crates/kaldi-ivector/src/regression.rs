//! Weights of Gaussians that depend on the i-vector x: softmax(W x).

use kaldi_gmm::random::Rand;
use kaldi_numerics::eigen::any_sign::symmetric_eigen;
use kaldi_numerics::soft_max::log_soft_max;
use kaldi_numerics::triangle;
use nalgebra::{Cholesky, DMatrix, DVector};

use crate::error::{Error, Result};
use crate::ivector::{IvectorPosterior, Prior};
use crate::products::{Rows, add_product};
use crate::random::normal_matrix;
use crate::stats::WeightStats;

/// Rounds of the quadratic approximation, and the change of the i-vector below which they end.
const ROUNDS: usize = 4;
const SMALL_CHANGE: f64 = 0.1;
/// Least eigenvalue of a precision: that of the prior.
const FLOOR: f64 = 1.0;

/// The approximation of Σ_g γ_g ln softmax(W x)_g around an i-vector as a quadratic function of W x.
pub(crate) struct Approximation {
    /// γ − Γŵ + m∘u, for each Gaussian.
    pub linear: DVector<f64>,
    /// m = max(γ, Γŵ).
    pub quadratic: DVector<f64>,
}

impl Approximation {
    /// Approximates at `ivector`, where u = W x, ŵ = softmax(u) and Γ = Σγ.
    pub fn new(w: &DMatrix<f64>, counts: &[f64], ivector: &DVector<f64>) -> Approximation {
        let u = w * ivector;
        let weights = log_soft_max(&u).map(f64::exp);
        let total: f64 = counts.iter().sum();
        let counts = DVector::from_column_slice(counts);
        let quadratic = counts.zip_map(&weights, |count, weight| count.max(total * weight));
        let linear = counts - weights * total + quadratic.component_mul(&u);
        Approximation { linear, quadratic }
    }
}

/// Returns the i-vector of an utterance with the linear and quadratic terms `linear` and `precision`, by rounds of
/// approximations of the weights.
pub(crate) fn estimate(
    w: &DMatrix<f64>,
    counts: &[f64],
    linear: &DVector<f64>,
    precision: &DMatrix<f64>,
) -> Result<IvectorPosterior> {
    let mut out = invert(linear, precision)?;
    for _ in 0..ROUNDS {
        let approximation = Approximation::new(w, counts, &out.mean);
        let mut scaled = w.clone();
        for (mut row, &factor) in scaled.row_iter_mut().zip(approximation.quadratic.iter()) {
            row *= factor;
        }
        let linear = linear + w.transpose() * approximation.linear;
        let next = invert(&linear, &(precision + w.transpose() * scaled))?;
        let change = (&next.mean - &out.mean).norm();
        out = next;
        if change < SMALL_CHANGE {
            break;
        }
    }
    Ok(out)
}

impl Prior {
    /// Adds to the statistics of weights: with n samples x of the i-vector, 1/n of each approximation's `linear` · xᵀ and
    /// `quadratic` · (xxᵀ). Samples have the mean and, on average, the covariance of the i-vector. `rand` is drawn from once.
    ///
    /// # Errors
    /// If the covariance is not positive definite.
    pub(crate) fn add_samples(
        &self,
        stats: &mut WeightStats,
        counts: &[f64],
        posterior: &IvectorPosterior,
        samples: usize,
        rand: Rand<'_>,
    ) -> Result<()> {
        let Some(w) = &self.regression else { return Ok(()) };
        let dim = posterior.mean.len();
        let Some(factor) = Cholesky::new(posterior.covariance.clone()) else {
            return Err(Error::data("the covariance of an i-vector is not positive definite"));
        };
        // A column for each sample.
        let mut ivectors = factor.l() * normal_matrix(samples, dim, rand).transpose();
        let mean = ivectors.column_mean();
        let spread = (samples as f64 / (samples as f64 - 1.0)).sqrt();
        let (mut linear, mut quadratic, mut products) = (Vec::new(), Vec::new(), Vec::new());
        for mut x in ivectors.column_iter_mut() {
            x -= &mean;
            x *= spread;
            x += &posterior.mean;
            let x = x.into_owned();
            let approximation = Approximation::new(w, counts, &x);
            linear.extend(approximation.linear.iter().map(|x| x / samples as f64));
            quadratic.extend(approximation.quadratic.iter().map(|x| x / samples as f64));
            let at = products.len();
            products.resize(at + triangle::len(dim), 0.0);
            triangle::pack(&(&x * x.transpose()), &mut products[at..]);
        }
        let gaussians = counts.len();
        let (linear, quadratic) =
            (Rows::new(&linear, samples, gaussians), Rows::new(&quadratic, samples, gaussians));
        add_product(&mut stats.linear, linear.transposed(), Rows::new(ivectors.as_slice(), samples, dim));
        let products = Rows::new(&products, samples, triangle::len(dim));
        add_product(&mut stats.quadratic, quadratic.transposed(), products);
        Ok(())
    }
}

/// Solves with the eigenvalues of the precision floored at 1.
fn invert(linear: &DVector<f64>, precision: &DMatrix<f64>) -> Result<IvectorPosterior> {
    let Some(mut eigen) = symmetric_eigen(precision) else {
        return Err(Error::data("the precision of the i-vector is not finite"));
    };
    eigen.eigenvalues.iter_mut().for_each(|x| *x = 1.0 / x.max(FLOOR));
    let log_determinant = eigen.eigenvalues.iter().map(|x| x.ln()).sum();
    let covariance = eigen.recompose();
    Ok(IvectorPosterior { mean: &covariance * linear, covariance, log_determinant })
}
