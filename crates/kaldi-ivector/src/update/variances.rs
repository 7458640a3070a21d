//! Covariances of the Gaussians, with floors.

use kaldi_io::log::{num, ratio};
use kaldi_numerics::eigen::any_sign::symmetric_eigen;
use kaldi_numerics::inverse_factor::InverseFactor;
use kaldi_numerics::triangle;
use nalgebra::DMatrix;

use super::{Note, Notes, Update, projection};
use crate::error::{Error, Result};
use crate::extractor::IvectorExtractor;
use crate::parallel;
use crate::products::dot;

/// Least eigenvalue of the floor, as a part of its largest.
const FLOOR_OF_FLOOR: f64 = 1e-4;

/// A new inverse covariance, with the growth of the objective for each frame of the Gaussian.
struct Estimate {
    inverse: DMatrix<f64>,
    growth: f64,
    floored: usize,
}

impl Update<'_> {
    /// Updates the covariances of Gaussians with enough data to (S − Y Mᵀ − M Yᵀ + M R Mᵀ) / γ with the new M. The floor
    /// is a factor times the average of all. Returns the growth of the objective for each frame.
    pub(super) fn variances(
        &self,
        extractor: &mut IvectorExtractor,
        scatter: &[f64],
        notes: Notes<'_>,
    ) -> Result<f64> {
        let dim = extractor.feature_dim();
        let mut raw: Vec<Option<DMatrix<f64>>> = vec![None; extractor.num_gauss()];
        let parts = scatter.chunks_exact(triangle::len(dim)).zip(&extractor.projections);
        let tasks = raw.iter_mut().zip(parts).enumerate().filter(|(g, _)| self.has_enough(*g));
        parallel::for_each(self.options.threads, tasks.collect(), |(g, (raw, (s, m)))| {
            let m = projection(m);
            // (½ M R − Y) Mᵀ and its transpose.
            let mut half = self.linear(g) * -1.0;
            half.gemm(0.5, &m, &self.quadratic(g), 1.0);
            let product = half * m.transpose();
            *raw = Some(triangle::unpack(s, dim) + &product + product.transpose());
        });
        let floor = self.floor(&raw, dim, notes)?;
        let mut estimates: Vec<Option<Result<Estimate>>> = Vec::new();
        estimates.resize_with(raw.len(), || None);
        let tasks = estimates.iter_mut().zip(&mut raw).zip(&extractor.inverse_covariances).enumerate();
        parallel::for_each(self.options.threads, tasks.collect(), |(g, ((estimate, raw), old))| {
            if let Some(raw) = raw.take() {
                let old = triangle::unpack(&old.data, dim);
                *estimate = Some(floored_estimate(raw / self.stats.counts[g], &old, &floor, g));
            }
        });
        let (mut growth, mut floored) = (0.0, 0);
        for (g, estimate) in estimates.into_iter().enumerate() {
            let Some(estimate) = estimate.transpose()? else { continue };
            if estimate.floored > 0 {
                notes(Note::Log(format!(
                    "For Gaussian index {g}, floored {} eigenvalues of variance.",
                    estimate.floored
                )));
            }
            growth += self.stats.counts[g] * estimate.growth;
            floored += estimate.floored;
            triangle::pack(&estimate.inverse, &mut extractor.inverse_covariances[g].data);
        }
        let percent = 100.0 * floored as f64 / (extractor.num_gauss() * dim) as f64;
        notes(Note::Log(format!("Floored {}% of all Gaussian eigenvalues", num(percent))));
        notes(Note::Log(format!(
            "Overall objf impr/frame for variances was {} over {} frames.",
            ratio(growth, self.frames),
            num(self.frames)
        )));
        Ok(growth / self.frames)
    }

    /// The average covariance times the factor, as its Cholesky factor.
    fn floor(&self, raw: &[Option<DMatrix<f64>>], dim: usize, notes: Notes<'_>) -> Result<Floor> {
        let (mut sum, mut count) = (DMatrix::zeros(dim, dim), 0.0);
        for (raw, own) in raw.iter().zip(&self.stats.counts) {
            if let Some(raw) = raw {
                sum += raw;
                count += own;
            }
        }
        if count <= 0.0 {
            return Err(Error::data(format!(
                "no Gaussian has a count of at least `gaussian-min-count`={}",
                self.options.min_count
            )));
        }
        let mut floor = sum * (self.options.variance_floor_factor / count);
        let Some(mut eigen) = symmetric_eigen(&floor) else {
            return Err(Error::data("the average variance is not finite"));
        };
        let least = FLOOR_OF_FLOOR * eigen.eigenvalues.amax();
        let raised = eigen.eigenvalues.iter().filter(|x| **x < least).count();
        if raised > 0 {
            notes(Note::Warning(format!(
                "Floored {raised} eigenvalues of the variance floor matrix.  This is not expected.  Maybe your feature \
                 data is linearly dependent."
            )));
            eigen.eigenvalues.iter_mut().for_each(|x| *x = x.max(least));
            floor = eigen.recompose();
        }
        match nalgebra::Cholesky::new(floor) {
            Some(factor) => {
                let lower = factor.l();
                let inverse = InverseFactor::new(&lower * lower.transpose());
                inverse.map(|inverse| Floor { lower, inverse: inverse.into_lower() })
            }
            None => None,
        }
        .ok_or_else(|| Error::data("the average variance is 0"))
    }
}

/// The factor L of a floor L Lᵀ, and its inverse.
struct Floor {
    lower: DMatrix<f64>,
    inverse: DMatrix<f64>,
}

/// Raises eigenvalues of L⁻¹ΣL⁻ᵀ that are below 1, for a floor L Lᵀ.
fn floored_estimate(
    raw: DMatrix<f64>,
    old: &DMatrix<f64>,
    floor: &Floor,
    gaussian: usize,
) -> Result<Estimate> {
    let singular = |what: &str| {
        Error::data(format!("the {what} covariance of Gaussian {gaussian} is not positive definite"))
    };
    let mut relative = &floor.inverse * &raw * floor.inverse.transpose();
    relative = (&relative + relative.transpose()) * 0.5;
    let dim = raw.nrows();
    let above = &relative - DMatrix::identity(dim, dim);
    let (new, floored) = match InverseFactor::new(above) {
        Some(_) => (raw.clone(), 0),
        None => {
            let mut eigen = symmetric_eigen(&relative).ok_or_else(|| singular("new"))?;
            let floored = eigen.eigenvalues.iter().filter(|x| **x < 1.0).count();
            eigen.eigenvalues.iter_mut().for_each(|x| *x = x.max(1.0));
            (&floor.lower * eigen.recompose() * floor.lower.transpose(), floored)
        }
    };
    let factor = InverseFactor::new(new).ok_or_else(|| singular("new"))?;
    let old_determinant =
        InverseFactor::new(old.clone()).ok_or_else(|| singular("old inverse"))?.log_determinant();
    let inverse = factor.inverse();
    let new_objective = -0.5 * (dot(&raw, &inverse) + factor.log_determinant());
    let old_objective = -0.5 * (dot(&raw, old) - old_determinant);
    Ok(Estimate { inverse, growth: new_objective - old_objective, floored })
}
