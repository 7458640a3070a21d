//! The posterior of the i-vector of an utterance.

use kaldi_numerics::inverse_factor::InverseFactor;
use kaldi_numerics::soft_max::log_soft_max;
use nalgebra::{DMatrix, DVector};

use crate::error::{Error, Result};
use crate::extractor::{IvectorExtractor, Weights};
use crate::products::{dot, owned};
use crate::regression;
use crate::utterances::{Block, Objectives};

/// A normal distribution of an i-vector.
#[derive(Debug, Clone)]
pub struct IvectorPosterior {
    pub mean: DVector<f64>,
    pub covariance: DMatrix<f64>,
    /// ln |covariance|.
    pub log_determinant: f64,
}

/// Parts of an extractor, beside the terms, that the posterior depends on.
#[derive(Debug)]
pub struct Prior {
    pub offset: f64,
    /// W of weights softmax(W x): Gaussians × i-vector dimension.
    pub regression: Option<DMatrix<f64>>,
}

impl Prior {
    pub fn new(extractor: &IvectorExtractor) -> Prior {
        let regression = match &extractor.weights {
            Weights::Fixed(_) => None,
            Weights::Regression(w) => Some(owned(&w.data, w.rows, w.cols)),
        };
        Prior { offset: extractor.prior_offset, regression }
    }

    /// Returns the posterior of the i-vector of an utterance of a block.
    ///
    /// # Errors
    /// If the precision is not positive definite, as it may be with negative posteriors.
    pub(crate) fn posterior(
        &self,
        block: &Block,
        objectives: &Objectives,
        utterance: usize,
    ) -> Result<IvectorPosterior> {
        let (linear, factor) = match self.solve(block, objectives, utterance)? {
            Solved::ByRegression(posterior) => return Ok(posterior),
            Solved::ByFactor(linear, factor) => (linear, factor),
        };
        let covariance = factor.inverse();
        Ok(IvectorPosterior {
            mean: &covariance * linear,
            covariance,
            log_determinant: -factor.log_determinant(),
        })
    }

    /// Returns the mean of the i-vector of an utterance of a block. Errors are those of [`posterior`](Self::posterior).
    pub(crate) fn mean(
        &self,
        block: &Block,
        objectives: &Objectives,
        utterance: usize,
    ) -> Result<DVector<f64>> {
        Ok(match self.solve(block, objectives, utterance)? {
            Solved::ByRegression(posterior) => posterior.mean,
            Solved::ByFactor(linear, factor) => factor.lower().tr_mul(&(factor.lower() * linear)),
        })
    }

    fn solve(&self, block: &Block, objectives: &Objectives, utterance: usize) -> Result<Solved> {
        let linear = DVector::from_column_slice(objectives.linear(utterance));
        let mut precision = objectives.data_precision(utterance);
        precision.iter_mut().step_by(linear.len() + 1).for_each(|x| *x += 1.0);
        if let Some(w) = &self.regression {
            let posterior = regression::estimate(w, block.counts(utterance), &linear, &precision)?;
            return Ok(Solved::ByRegression(posterior));
        }
        match InverseFactor::new(precision) {
            Some(factor) => Ok(Solved::ByFactor(linear, factor)),
            None => Err(Error::data(
                "the precision of the i-vector is not positive definite; are posteriors negative or too large?",
            )),
        }
    }

    /// Returns the growth of the objective from the mean of the prior to an i-vector x. The objective is γ·ln w(x) +
    /// x·a − ½ xᵀBx − ½‖x − o‖². Here a and B are the linear and quadratic terms without the prior.
    pub(crate) fn improvement(
        &self,
        block: &Block,
        objectives: &Objectives,
        utterance: usize,
        ivector: &DVector<f64>,
    ) -> f64 {
        let b = objectives.data_precision(utterance);
        let mut a = DVector::from_column_slice(objectives.linear(utterance));
        a[0] -= self.offset;
        let mut start = DVector::zeros(ivector.len());
        start[0] = self.offset;
        let counts = DVector::from_column_slice(block.counts(utterance));
        let objective = |x: &DVector<f64>| {
            let weights = self.regression.as_ref().map_or(0.0, |w| counts.dot(&log_soft_max(&(w * x))));
            weights + x.dot(&a) - 0.5 * x.dot(&(&b * x)) - 0.5 * (x - &start).norm_squared()
        };
        objective(ivector) - objective(&start)
    }

    /// Returns the expected objective of an utterance's i-vector, without the terms that do not depend on the i-vector.
    ///
    /// With fixed weights, covariance Q⁻¹ and mean x = Q⁻¹l it is ½ x·l − ½ o² + ½ ln|Q⁻¹|. With regression it is γ·ln
    /// w(x) − ½ tr(V JᵀΓJ) + x·a − ½ xᵀBx − ½ tr(V B) − ½(‖x − o‖² + tr V − S − ln|V|). V is the covariance and J = W +
    /// ŵ(Wᵀŵ)ᵀ (the plus sign is the reference's).
    pub(crate) fn objective(
        &self,
        block: &Block,
        objectives: &Objectives,
        utterance: usize,
        posterior: &IvectorPosterior,
    ) -> f64 {
        let IvectorPosterior { mean, covariance, log_determinant } = posterior;
        let mut linear = DVector::from_column_slice(objectives.linear(utterance));
        let Some(w) = &self.regression else {
            return 0.5 * (mean.dot(&linear) - self.offset.powi(2) + log_determinant);
        };
        let counts = DVector::from_column_slice(block.counts(utterance));
        let log_weights = log_soft_max(&(w * mean));
        let weights = log_weights.map(f64::exp);
        let jacobian = w + &weights * (w.tr_mul(&weights)).transpose();
        let mut scaled = jacobian.clone();
        scaled.row_iter_mut().zip(counts.iter()).for_each(|(mut row, count)| row *= *count);
        let by_weights = counts.dot(&log_weights) - 0.5 * dot(&(jacobian.transpose() * scaled), covariance);
        linear[0] -= self.offset;
        let b = objectives.data_precision(utterance);
        let by_data = mean.dot(&linear) - 0.5 * (mean.dot(&(&b * mean)) + dot(&b, covariance));
        let mut distance = mean.clone();
        distance[0] -= self.offset;
        let by_prior = distance.norm_squared() + covariance.trace() - mean.len() as f64 - log_determinant;
        by_weights + by_data - 0.5 * by_prior
    }
}

enum Solved {
    ByRegression(IvectorPosterior),
    /// The linear term, and the factor of the precision.
    ByFactor(DVector<f64>, InverseFactor),
}
