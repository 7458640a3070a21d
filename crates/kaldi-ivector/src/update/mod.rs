//! The update of an extractor: the model with the largest objective, given statistics.
//!
//! Parts are updated one after another: projections M, weights that depend on the i-vector, covariances, and the prior.
//! A change of the basis of i-vectors keeps the prior at unit variance.

mod prior;
mod projections;
mod quadratic;
mod variances;

use std::num::NonZero;

use kaldi_io::DenseMatrix;
use kaldi_io::log::{num, ratio};
use kaldi_numerics::triangle;
use nalgebra::DMatrix;

use crate::error::{Error, Result};
use crate::extractor::{IvectorExtractor, Weights};
use crate::products::owned;
use crate::stats::{ExtractorStats, Shape};

/// Limits of an update, and its threads.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdateOptions {
    /// Covariances are floored at this factor times their average; above 0, at most 1.
    pub variance_floor_factor: f64,
    /// Gaussians with smaller counts are not updated.
    pub min_count: f64,
    /// Diagonalizes the average of M_gᵀΣ_g⁻¹M_g, except for dimension 0, and sorts dimensions by it.
    pub diagonalize: bool,
    pub threads: NonZero<usize>,
}

/// A sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    Log(String),
    Warning(String),
}

/// Receives sentences in the order of events.
pub type Notes<'a> = &'a mut dyn FnMut(Note);

/// An update that is going on.
struct Update<'a> {
    stats: &'a ExtractorStats,
    options: &'a UpdateOptions,
    /// Σ γ_g.
    frames: f64,
}

/// Updates an extractor with statistics that were collected with it. Returns the growth of the objective for each frame.
///
/// # Errors
/// If options make no sense, if the statistics are of another model or are singular; the extractor is not to be used then.
pub fn update(
    extractor: &mut IvectorExtractor,
    stats: &ExtractorStats,
    options: &UpdateOptions,
    notes: Notes<'_>,
) -> Result<f64> {
    let factor = options.variance_floor_factor;
    if !(factor > 0.0 && factor <= 1.0) {
        return Err(Error::options(format!(
            "`variance-floor-factor`={factor}: expected a number above 0, at most 1"
        )));
    }
    let (found, expected) = (stats.shape, Shape::of(extractor));
    if found != expected {
        return Err(Error::data(format!("the statistics have {found}, the model has {expected}")));
    }
    let frames: f64 = stats.counts.iter().sum();
    if frames <= 0.0 || stats.num_ivectors <= 0.0 {
        return Err(Error::data("the statistics have a count of 0 frames"));
    }
    let update = Update { stats, options, frames };
    if stats.objective != 0.0 {
        notes(Note::Log(format!(
            "Overall auxf/frame on training data was {} per frame over {} frames.",
            ratio(stats.objective, frames),
            num(frames)
        )));
    }
    let mut growth = update.projections(extractor, notes);
    match (&mut extractor.weights, &stats.weights) {
        (Weights::Fixed(_), None) => {}
        (Weights::Regression(w), Some(weights)) => growth += update.weights(w, weights, notes),
        (weights, _) => {
            let depend = if matches!(weights, Weights::Regression(_)) { "depend" } else { "do not depend" };
            return Err(Error::data(format!(
                "the weights of the model {depend} on the i-vector, those of the statistics are of the other kind"
            )));
        }
    }
    if let Some(scatter) = &stats.scatter {
        growth += update.variances(extractor, scatter, notes)?;
    }
    growth += update.prior(extractor, notes)?;
    notes(Note::Log(format!("Overall objective-function improvement per frame was {}", num(growth))));
    Ok(growth)
}

impl Update<'_> {
    fn has_enough(&self, gaussian: usize) -> bool {
        self.stats.counts[gaussian] >= self.options.min_count
    }

    /// Y_g: feature dimension × i-vector dimension.
    fn linear(&self, gaussian: usize) -> DMatrix<f64> {
        let Shape { feature_dim, ivector_dim, .. } = self.stats.shape;
        let size = feature_dim * ivector_dim;
        owned(&self.stats.linear[gaussian * size..(gaussian + 1) * size], feature_dim, ivector_dim)
    }

    /// R_g.
    fn quadratic(&self, gaussian: usize) -> DMatrix<f64> {
        let dim = self.stats.shape.ivector_dim;
        let size = triangle::len(dim);
        triangle::unpack(&self.stats.quadratic[gaussian * size..(gaussian + 1) * size], dim)
    }
}

fn projection(m: &DenseMatrix<f64>) -> DMatrix<f64> {
    owned(&m.data, m.rows, m.cols)
}

/// Returns the part of the variance that i-vectors explain: tr B / (tr B + tr W). With the proportions p_g of `counts`, B = Σ
/// p_g M_gM_gᵀ and W = Σ p_g Σ_g. Eigenvalues of Σ_g⁻¹ below 1 count as 1, and the mean of the prior is in B, as in the
/// reference.
pub fn explained_variance(extractor: &IvectorExtractor, counts: &[f64]) -> f64 {
    let (mut between, mut within) = (0.0, 0.0);
    for ((count, m), inverse) in counts.iter().zip(&extractor.projections).zip(&extractor.inverse_covariances)
    {
        let eigenvalues = triangle::unpack(&inverse.data, inverse.dim).symmetric_eigenvalues();
        within += count * eigenvalues.iter().map(|x| 1.0 / x.max(1.0)).sum::<f64>();
        between += count * m.data.iter().map(|x| x * x).sum::<f64>();
    }
    between / (between + within)
}

#[cfg(test)]
mod tests;
