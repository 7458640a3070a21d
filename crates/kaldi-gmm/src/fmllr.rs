//! Statistics for linear transforms of a speaker's features (`transform/fmllr-diag-gmm.cc`), and their objective function.

use kaldi_numerics::determinant::log_abs_determinant;
use nalgebra::DMatrix;

use crate::error::{Error, Result};
use crate::gmm::DiagGmm;
use crate::model::AmDiagGmm;
use crate::model_stats::Accumulator;
use crate::outer::OuterSums;
use kaldi_io::{DenseMatrix, GaussPost, Posterior};

/// Statistics for fMLLR: the count β = Σ γ, K = Σ γ m x⁺ᵀ and, for each dimension d, G_d = Σ γ v_d x⁺x⁺ᵀ, with x⁺ = (x,
/// 1). The sums are over frames x and Gaussians with posterior γ, mean over variance m and inverse variance v.
pub struct FmllrStats {
    dim: usize,
    pub(crate) count: f64,
    /// K: a row for each dimension.
    pub(crate) linear: DMatrix<f64>,
    pub(crate) quadratic: OuterSums,
    frame: PendingFrame,
    accumulator: Accumulator,
}

/// Sums of one frame in single precision. It is added when the next frame comes.
#[derive(Debug, Default)]
struct PendingFrame {
    values: Vec<f32>,
    count: f32,
    /// Σ γ m.
    means: Vec<f32>,
    /// Σ γ v.
    inv_vars: Vec<f32>,
}

impl FmllrStats {
    pub fn new(dim: usize) -> FmllrStats {
        FmllrStats {
            dim,
            count: 0.0,
            linear: DMatrix::zeros(dim, dim + 1),
            quadratic: OuterSums::new(dim, dim + 1),
            frame: PendingFrame::default(),
            accumulator: Accumulator::default(),
        }
    }

    pub fn dim(&self) -> usize {
        self.dim
    }
    /// β of the frames that have been added, the last one not included before [`commit`](Self::commit).
    pub fn count(&self) -> f64 {
        self.count
    }

    /// Adds a frame with the posteriors of a mixture's Gaussians. Consecutive equal frames are added as one.
    pub fn add(&mut self, gmm: &DiagGmm, frame: &[f32], posteriors: &[f32]) {
        if self.frame.values != frame {
            self.commit();
            self.frame.values.clear();
            self.frame.values.extend_from_slice(frame);
        }
        let pending = &mut self.frame;
        for (g, &posterior) in posteriors.iter().enumerate().filter(|(_, posterior)| **posterior != 0.0) {
            pending.count += posterior;
            for (sums, parameters) in
                [(&mut pending.means, gmm.means_invvars()), (&mut pending.inv_vars, gmm.inv_vars())]
            {
                sums.iter_mut().zip(parameters.row(g)).for_each(|(sum, x)| *sum += posterior * x);
            }
        }
    }

    /// Adds the last frame to the sums.
    pub fn commit(&mut self) {
        let PendingFrame { values, count, means, inv_vars } = &mut self.frame;
        if *count != 0.0 {
            let extended: Vec<f64> = values.iter().map(|&x| f64::from(x)).chain([1.0]).collect();
            self.count += f64::from(*count);
            for (column, &x) in extended.iter().enumerate() {
                let sums = self.linear.column_mut(column);
                sums.into_iter().zip(&*means).for_each(|(sum, &mean)| *sum += f64::from(mean) * x);
            }
            self.quadratic.add(inv_vars.iter().map(|&value| f64::from(value)), &extended);
        }
        values.clear();
        *count = 0.0;
        for sums in [means, inv_vars] {
            sums.clear();
            sums.resize(self.dim, 0.0);
        }
    }

    /// Adds other statistics. Fails if their dimension is another one.
    pub fn merge(&mut self, mut other: FmllrStats) -> Result<()> {
        if other.dim != self.dim {
            return Err(Error::data(format!(
                "fMLLR statistics of dimension {} cannot be added to fMLLR statistics of dimension {}",
                other.dim, self.dim
            )));
        }
        self.commit();
        other.commit();
        self.count += other.count;
        self.linear += &other.linear;
        self.quadratic.flush();
        other.quadratic.flush();
        for d in 0..self.dim {
            let sums = self.quadratic.packed_mut(d).iter_mut();
            sums.zip(other.quadratic.packed(d)).for_each(|(sum, value)| *sum += value);
        }
        Ok(())
    }

    /// Adds an utterance with weights of pdfs (see [`pdf_posterior`](crate::pdf_posterior)). Fails for pdfs that the
    /// model does not have, features of another dimension, and lengths that differ.
    pub fn add_utterance(
        &mut self,
        model: &AmDiagGmm,
        features: &DenseMatrix<f32>,
        weights: &Posterior,
    ) -> Result<()> {
        check(self.dim, features, weights.len())?;
        let mut accumulator = std::mem::take(&mut self.accumulator);
        for (t, frame) in weights.iter().enumerate() {
            for &(pdf, weight) in frame {
                let gmm = model.pdf(pdf)?;
                let (posteriors, _) = accumulator.posteriors(gmm, features.row(t), weight)?;
                self.add(gmm, features.row(t), posteriors);
            }
        }
        self.accumulator = accumulator;
        Ok(())
    }

    /// Does the same as [`add_utterance`](Self::add_utterance) with posteriors of Gaussians.
    pub fn add_gaussians(
        &mut self,
        model: &AmDiagGmm,
        features: &DenseMatrix<f32>,
        posteriors: &GaussPost,
    ) -> Result<()> {
        check(self.dim, features, posteriors.len())?;
        for (t, frame) in posteriors.iter().enumerate() {
            for (pdf, posteriors) in frame {
                let gmm = model.pdf(*pdf)?;
                if posteriors.len() != gmm.num_gauss() {
                    return Err(Error::data(format!(
                        "frame {t} has posteriors of {} Gaussians of pdf {pdf}, which has {}",
                        posteriors.len(),
                        gmm.num_gauss()
                    )));
                }
                self.add(gmm, features.row(t), posteriors);
            }
        }
        Ok(())
    }

    /// Adds `frames` virtual frames that are drawn from the Gaussians of some pdfs themselves: their expected statistics. The identity
    /// maximises the objective function of these frames alone, so that they draw an estimate towards it.
    ///
    /// A Gaussian with mean μ, variances s and weight w in its pdf has the share τ of the frames that its pdf's `occupancies` and w give,
    /// and adds β = τ, row d of K = τ μ_d/s_d (μ, 1)ᵀ and G_d = τ/s_d ((μ, 1)(μ, 1)ᵀ + diag(s, 0)).
    ///
    /// # Errors
    /// The model has another dimension, `occupancies` has no number for each pdf, or a number is negative or not finite.
    pub fn add_prior(&mut self, model: &AmDiagGmm, occupancies: &[f64], frames: f64) -> Result<()> {
        if model.dim() != self.dim || occupancies.len() != model.pdfs().len() {
            return Err(Error::data(format!(
                "a prior of {} pdfs of dimension {} with {} occupancies cannot be added to fMLLR statistics of dimension {}",
                model.pdfs().len(),
                model.dim(),
                occupancies.len(),
                self.dim
            )));
        }
        if let Some(wrong) = [&[frames], occupancies].concat().iter().find(|x| !(**x >= 0.0 && x.is_finite()))
        {
            return Err(Error::data(format!("a prior of {wrong} frames: expected a number of 0 or more")));
        }
        let all: f64 = occupancies.iter().sum();
        if frames == 0.0 || all == 0.0 {
            return Ok(());
        }
        self.commit();
        for (gmm, occupancy) in
            model.pdfs().iter().zip(occupancies).filter(|(_, occupancy)| **occupancy > 0.0)
        {
            for (g, &weight) in gmm.weights().iter().enumerate() {
                let share = frames * occupancy / all * f64::from(weight);
                let inv_vars = || gmm.inv_vars().row(g).map(|v| share * f64::from(v));
                let mean: Vec<f64> = gmm.mean(g).into_iter().map(f64::from).chain([1.0]).collect();
                self.count += share;
                for (column, &x) in mean.iter().enumerate() {
                    let rows = self.linear.column_mut(column).into_iter().zip(inv_vars()).zip(&mean);
                    rows.for_each(|((sum, inv_var), m)| *sum += inv_var * m * x);
                }
                self.quadratic.add(inv_vars(), &mean);
                let variances: Vec<f64> = gmm.inv_vars().row(g).map(|v| 1.0 / f64::from(v)).collect();
                for (d, inv_var) in inv_vars().enumerate() {
                    let packed = self.quadratic.packed_mut(d);
                    variances.iter().enumerate().for_each(|(i, s)| packed[i * (i + 3) / 2] += inv_var * s);
                }
            }
        }
        Ok(())
    }

    /// Computes β ln|det A| + tr(WᵀK) − ½ Σ_d w_d G_d w_dᵀ of a transform W = (A b).
    pub(crate) fn objective(&mut self, transform: &DMatrix<f64>) -> f64 {
        self.quadratic.flush();
        let square = transform.columns(0, self.dim);
        let log_determinant = log_abs_determinant(square.clone_owned());
        let quadratic = (0..self.dim).map(|d| {
            let row = transform.row(d).transpose();
            row.dot(&self.quadratic.times(d, row.as_slice()))
        });
        self.count * log_determinant + transform.dot(&self.linear) - 0.5 * quadratic.sum::<f64>()
    }

    /// S: row d is w_d G_d.
    pub(crate) fn quadratic_rows(&mut self, transform: &DMatrix<f64>) -> DMatrix<f64> {
        self.quadratic.flush();
        let mut out = DMatrix::zeros(self.dim, self.dim + 1);
        for d in 0..self.dim {
            let row = transform.row(d).transpose();
            out.set_row(d, &self.quadratic.times(d, row.as_slice()).transpose());
        }
        out
    }
}

fn check(dim: usize, features: &DenseMatrix<f32>, frames: usize) -> Result<()> {
    if features.rows > 0 && features.cols != dim {
        return Err(Error::data(format!("features have dimension {}, the model has {dim}", features.cols)));
    }
    if features.rows != frames {
        return Err(Error::data(format!("Posterior vector has wrong size {frames} vs. {}", features.rows)));
    }
    Ok(())
}

/// The identity transform, (I 0).
pub(crate) fn unit(dim: usize) -> DMatrix<f64> {
    DMatrix::identity(dim, dim + 1)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing_models::{features, model};

    /// Statistics of frames that a transform of the model's features would fit.
    pub fn stats(frames: usize, dim: usize) -> (FmllrStats, AmDiagGmm, DenseMatrix<f32>, Posterior) {
        let (model, features) = (model(3, 2, dim, 5), features(frames, dim, 6));
        let weights: Posterior =
            (0..frames).map(|t| vec![(t as i32 % 3, 0.75), (1 + t as i32 % 2, 0.25)]).collect();
        let mut stats = FmllrStats::new(dim);
        stats.add_utterance(&model, &features, &weights).unwrap();
        (stats, model, features, weights)
    }

    #[test]
    fn merged_sums_are_those_of_all_frames() {
        let (mut whole, model, features, weights) = stats(50, 4);
        let part = |first: usize, rows: usize| {
            let mut stats = FmllrStats::new(4);
            let block = features.block(first, rows, 0, 4);
            stats.add_utterance(&model, &block, &weights[first..first + rows].to_vec()).unwrap();
            stats
        };
        let mut merged = part(0, 23);
        merged.merge(part(23, 27)).unwrap();
        whole.commit();
        whole.quadratic.flush();
        assert!((merged.count() - whole.count()).abs() < 1e-9);
        assert!((&merged.linear - &whole.linear).amax() < 1e-9);
        for d in 0..4 {
            assert!((merged.quadratic.get(d) - whole.quadratic.get(d)).amax() < 1e-9);
        }
        assert!(merged.merge(FmllrStats::new(3)).is_err());
    }

    #[test]
    fn sums() {
        let (mut stats, model, features, weights) = stats(50, 4);
        assert!((stats.count() - 49.0).abs() < 1e-5, "the last frame waits");
        stats.commit();
        stats.commit();
        stats.quadratic.flush();
        assert!((stats.count() - 50.0).abs() < 1e-5);
        let (mut linear, mut quadratic) = (DMatrix::<f64>::zeros(4, 5), vec![DMatrix::<f64>::zeros(5, 5); 4]);
        let mut accumulator = Accumulator::default();
        for (t, frame) in weights.iter().enumerate() {
            let extended = nalgebra::DVector::from_iterator(
                5,
                features.row(t).iter().map(|&x| f64::from(x)).chain([1.0]),
            );
            for &(pdf, weight) in frame {
                let gmm = model.pdf(pdf).unwrap();
                let posteriors = accumulator.posteriors(gmm, features.row(t), weight).unwrap().0.to_vec();
                for (g, &posterior) in posteriors.iter().enumerate() {
                    for (d, quadratic) in quadratic.iter_mut().enumerate() {
                        let mean = f64::from(posterior * gmm.means_invvars().get(g, d));
                        let mut row = linear.row_mut(d);
                        row += mean * extended.transpose();
                        *quadratic += f64::from(posterior * gmm.inv_vars().get(g, d))
                            * &extended
                            * extended.transpose();
                    }
                }
            }
        }
        assert!((&stats.linear - linear).amax() < 1e-4);
        assert!((0..4).all(|d| (stats.quadratic.get(d) - &quadratic[d]).amax() < 1e-4));
    }

    /// Points μ ± √D σ_d e_d have the mean and the covariance of their Gaussian.
    #[test]
    fn a_prior_has_the_statistics_of_frames_of_its_gaussians() {
        let (model, occupancies) = (model(3, 2, 4, 5), [2.0, 0.0, 1.0]);
        let mut expected = FmllrStats::new(4);
        for (gmm, occupancy) in model.pdfs().iter().zip(occupancies) {
            for (g, &weight) in gmm.weights().iter().enumerate() {
                for (d, sign) in (0..8).map(|n| (n / 2, if n % 2 == 0 { 2.0 } else { -2.0 })) {
                    let mut frame = gmm.mean(g);
                    frame[d] += sign / gmm.inv_vars().get(g, d).sqrt();
                    let mut posteriors = vec![0.0; gmm.num_gauss()];
                    posteriors[g] = (90.0 * occupancy / 3.0) as f32 * weight / 8.0;
                    expected.add(gmm, &frame, &posteriors);
                }
            }
        }
        expected.commit();
        expected.quadratic.flush();
        let mut prior = FmllrStats::new(4);
        prior.add_prior(&model, &occupancies, 90.0).unwrap();
        prior.quadratic.flush();
        assert!((prior.count() - 90.0).abs() < 1e-4 && (expected.count() - 90.0).abs() < 1e-4);
        assert!((&prior.linear - &expected.linear).amax() < 1e-5 * expected.linear.amax());
        for d in 0..4 {
            let expected = expected.quadratic.get(d);
            assert!((prior.quadratic.get(d) - &expected).amax() < 1e-5 * expected.amax(), "{d}");
        }
    }

    #[test]
    fn a_prior_that_makes_no_sense_is_an_error() {
        let model = model(3, 2, 4, 5);
        let error = |dim: usize, occupancies: &[f64], frames: f64| {
            FmllrStats::new(dim).add_prior(&model, occupancies, frames).unwrap_err().to_string()
        };
        assert!(error(3, &[1.0; 3], 1.0).contains("statistics of dimension 3"));
        assert!(error(4, &[1.0; 2], 1.0).contains("with 2 occupancies"));
        assert!(error(4, &[1.0; 3], -1.0).contains("-1 frames"));
        assert!(error(4, &[1.0, f64::NAN, 1.0], 1.0).contains("NaN frames"));
    }

    #[test]
    fn what_does_not_fit() {
        let (mut stats, model, features, mut weights) = stats(5, 4);
        let mut error = |features: &DenseMatrix<f32>, weights: &Posterior| {
            stats.add_utterance(&model, features, weights).unwrap_err().to_string()
        };
        assert!(error(&DenseMatrix::new(5, 3), &weights).contains("dimension 3"));
        assert!(error(&DenseMatrix::new(4, 4), &weights).contains("wrong size 5 vs. 4"));
        weights[2][0].0 = 3;
        assert!(error(&features, &weights).contains("no pdf 3"));
        let gaussians: GaussPost = vec![vec![(0, vec![1.0; 3])]; 5];
        assert!(
            stats
                .add_gaussians(&model, &features, &gaussians)
                .unwrap_err()
                .to_string()
                .contains("3 Gaussians")
        );
    }
}
