//! The prior of i-vectors: a change of the basis after which they have unit covariance and a mean (o, 0, 0, …).

use std::num::NonZero;

use kaldi_io::log::num;
use kaldi_numerics::eigen::signed::Eigen;
use kaldi_numerics::inverse_factor::InverseFactor;
use kaldi_numerics::triangle;
use nalgebra::{DMatrix, DVector};

use super::{Note, Notes, Update, projection};
use crate::error::{Error, Result};
use crate::extractor::{IvectorExtractor, Weights};
use crate::products::{owned, store};
use crate::{parallel, terms};

/// Least eigenvalue of the covariance of i-vectors.
const FLOOR: f64 = 1e-7;

impl Update<'_> {
    /// Changes the basis of i-vectors by a matrix V: x → V x, M → M V⁻¹. Returns the growth of the objective for each frame.
    pub(super) fn prior(&self, extractor: &mut IvectorExtractor, notes: Notes<'_>) -> Result<f64> {
        let (stats, dim) = (self.stats, extractor.ivector_dim());
        let mean = DVector::from_column_slice(&stats.ivector_sum) / stats.num_ivectors;
        let mut covariance = triangle::unpack(&stats.ivector_scatter, dim) / stats.num_ivectors;
        covariance.ger(-1.0, &mean, &mean, 1.0);
        let eigen = eigen(&covariance, "covariance of the i-vectors")?;
        let values = DVector::from_vec(eigen.values);
        notes(Note::Log(format!(
            "Eigenvalues of iVector covariance range from {} to {}",
            num(values.min()),
            num(values.max())
        )));
        let floored = values.iter().filter(|x| **x < FLOOR).count();
        if floored > 0 {
            notes(Note::Warning(format!("Floored {floored} eigenvalues of covar of iVectors.")));
        }
        let mut whitening = eigen.vectors;
        for (mut row, value) in whitening.row_iter_mut().zip(values.iter()) {
            row /= value.max(FLOOR).sqrt();
        }
        let mut change = reflection(&(&whitening * &mean))? * whitening;
        if self.options.diagonalize {
            diagonalize(extractor, &mut change, self.options.threads, notes)?;
        }
        let offset = (&change * &mean)[0];
        let growth = self.growth(&mean, covariance, extractor.prior_offset, notes)?;
        notes(Note::Log(format!("Setting iVector prior offset to {}", num(offset))));
        extractor.change_basis(change, offset, self.options.threads)?;
        Ok(growth)
    }

    /// Computes the growth of −½(S + ln|K|) over −½ tr(K + ddᵀ), where d is the distance of the mean from that of the prior.
    fn growth(
        &self,
        mean: &DVector<f64>,
        covariance: DMatrix<f64>,
        old_offset: f64,
        notes: Notes<'_>,
    ) -> Result<f64> {
        let dim = mean.len() as f64;
        let mut distance = mean.clone();
        distance[0] -= old_offset;
        let old = -0.5 * (covariance.trace() + distance.norm_squared());
        let Some(factor) = InverseFactor::new(covariance) else {
            return Err(Error::data("the covariance of the i-vectors is not positive definite"));
        };
        let growth = -0.5 * (dim + factor.log_determinant()) - old;
        let for_frame = growth * self.stats.num_ivectors / self.frames;
        notes(Note::Log(format!(
            "Overall auxf improvement from prior is {} per frame, or {} per iVector.",
            num(for_frame),
            num(growth)
        )));
        Ok(for_frame)
    }
}

/// Eigenvalues, the largest first, and eigenvectors as rows with the reference's signs.
fn eigen(matrix: &DMatrix<f64>, name: &str) -> Result<Eigen> {
    let eigen = Eigen::new(matrix).ok_or_else(|| Error::data(format!("the {name} has no eigenvalues")))?;
    Ok(eigen.sorted())
}

/// The reflection I − 2aaᵀ that makes `mean` a multiple of e₀: for x = mean / ‖mean‖, a = (x − e₀) / √(2(1 − x₀)).
fn reflection(mean: &DVector<f64>) -> Result<DMatrix<f64>> {
    let dim = mean.len();
    let length = mean.norm();
    if length == 0.0 || !length.is_finite() {
        return Err(Error::data(format!("the mean of the i-vectors has length {length}")));
    }
    let mut a = mean / length;
    a[0] -= 1.0;
    let mut out = DMatrix::identity(dim, dim);
    // ‖x − e₀‖² = 2(1 − x₀). A mean on the axis needs no reflection.
    let square = a.norm_squared();
    if square > 0.0 {
        out.ger(-2.0 / square, &a, &a, 1.0);
    }
    Ok(out)
}

/// Rotates dimensions 1.. of the new basis so that the average of M_gᵀΣ_g⁻¹M_g is diagonal in them, the largest first.
/// Gaussians count as their weights, or equally if these depend on the i-vector.
fn diagonalize(
    extractor: &IvectorExtractor,
    change: &mut DMatrix<f64>,
    threads: NonZero<usize>,
    notes: Notes<'_>,
) -> Result<()> {
    let dim = change.nrows();
    if dim == 1 {
        return Ok(());
    }
    let ranges = parallel::ranges(extractor.num_gauss());
    let mut parts = vec![DMatrix::zeros(dim, dim); ranges.len()];
    parallel::for_each(threads, parts.iter_mut().zip(ranges).collect(), |(sum, range)| {
        let mut linear = vec![0.0; extractor.feature_dim() * dim];
        for g in range {
            let weight = match &extractor.weights {
                Weights::Fixed(weights) => weights[g],
                Weights::Regression(_) => 1.0 / extractor.num_gauss() as f64,
            };
            let (m, inverse) = (&extractor.projections[g], &extractor.inverse_covariances[g]);
            *sum += terms::products(m, inverse, &mut linear) * weight;
        }
    });
    let average = parts.into_iter().fold(DMatrix::zeros(dim, dim), |sum, part| sum + part);
    let rows = change.rows(1, dim - 1).into_owned();
    let Some(inverse) = rows.columns(1, dim - 1).into_owned().try_inverse() else {
        return Err(Error::data("the basis of the i-vectors is singular"));
    };
    let turned = inverse.transpose() * average.view((1, 1), (dim - 1, dim - 1)) * inverse;
    let turned = (&turned + turned.transpose()) * 0.5;
    let eigen = eigen(&turned, "average quadratic term")?;
    let values: Vec<String> = eigen.values.iter().map(|&x| num(x)).collect();
    notes(Note::Log(format!("Eigenvalues of Vavg:  [ {} ]\n", values.join(" "))));
    change.rows_mut(1, dim - 1).copy_from(&(eigen.vectors * rows));
    Ok(())
}

impl IvectorExtractor {
    /// Replaces i-vectors x by V x, with the prior's offset: M → M V⁻¹, W → W V⁻¹.
    fn change_basis(
        &mut self,
        change: DMatrix<f64>,
        prior_offset: f64,
        threads: NonZero<usize>,
    ) -> Result<()> {
        let Some(inverse) = change.try_inverse() else {
            return Err(Error::data("the new basis of the i-vectors is singular"));
        };
        parallel::for_each(threads, self.projections.iter_mut().collect(), |m| {
            let new = projection(m) * &inverse;
            store(&new, &mut m.data);
        });
        if let Weights::Regression(w) = &mut self.weights {
            let new = owned(&w.data, w.rows, w.cols) * inverse;
            store(&new, &mut w.data);
        }
        self.prior_offset = prior_offset;
        Ok(())
    }
}
