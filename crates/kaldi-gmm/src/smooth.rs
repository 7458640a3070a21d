//! I-smoothing: statistics are extended by a number of frames with the averages of other statistics, or of a model
//! (`gmm/ebw-diag-gmm.cc`).

use crate::error::{Error, Result};
use crate::gmm::DiagGmm;
use crate::model::AmDiagGmm;
use crate::model_stats::ModelStats;
use crate::stats::GmmStats;

impl ModelStats {
    /// Adds to each Gaussian `tau` frames with the mean and the mean square of the same Gaussian in `source`. If that
    /// Gaussian has no data, no frames are added. It is an error if sizes differ.
    pub fn smooth_with_stats(&mut self, source: &ModelStats, tau: f64) -> Result<()> {
        self.check_pdfs(source.pdfs.len())?;
        for (number, (pdf, source)) in self.pdfs.iter_mut().zip(&source.pdfs).enumerate() {
            smooth(number, pdf, tau, (source.num_gauss(), source.dim()), |g, d| {
                let occupancy = source.occupancy[g];
                let mean = |sums: &kaldi_io::DenseMatrix<f64>| {
                    if sums.rows == 0 { 0.0 } else { sums.row(g)[d] / occupancy }
                };
                (occupancy != 0.0).then(|| (mean(&source.sums), mean(&source.products)))
            })?;
        }
        Ok(())
    }

    /// Does the same as [`smooth_with_stats`](Self::smooth_with_stats) with the Gaussians of a model. A Gaussian with
    /// weight 0 counts as one without data.
    pub fn smooth_with_model(&mut self, model: &AmDiagGmm, tau: f64) -> Result<()> {
        self.check_pdfs(model.pdfs().len())?;
        for (number, (pdf, source)) in self.pdfs.iter_mut().zip(model.pdfs()).enumerate() {
            smooth(number, pdf, tau, (source.num_gauss(), source.dim()), |g, d| moments(source, g, d))?;
        }
        Ok(())
    }

    fn check_pdfs(&self, found: usize) -> Result<()> {
        if found == self.pdfs.len() {
            return Ok(());
        }
        Err(Error::data(format!("statistics of {} pdfs cannot be smoothed with {found}", self.pdfs.len())))
    }
}

/// Mean and mean square of a Gaussian in one dimension.
fn moments(gmm: &DiagGmm, g: usize, d: usize) -> Option<(f64, f64)> {
    let var = 1.0 / f64::from(gmm.inv_vars.get(g, d));
    let mean = f64::from(gmm.means_invvars.get(g, d)) * var;
    (gmm.weights[g] != 0.0).then_some((mean, var + mean * mean))
}

fn smooth(
    number: usize,
    pdf: &mut GmmStats,
    tau: f64,
    source: (usize, usize),
    moments: impl Fn(usize, usize) -> Option<(f64, f64)>,
) -> Result<()> {
    if source != (pdf.num_gauss(), pdf.dim()) {
        return Err(Error::data(format!(
            "pdf {number}: statistics of {} Gaussians of dimension {} cannot be smoothed with {} of dimension {}",
            pdf.num_gauss(),
            pdf.dim(),
            source.0,
            source.1
        )));
    }
    let parts = pdf.parts();
    for g in 0..pdf.num_gauss() {
        if moments(g, 0).is_none() {
            continue;
        }
        pdf.occupancy[g] += tau;
        for d in 0..pdf.dim() {
            let Some((mean, square)) = moments(g, d) else { continue };
            if parts.means {
                pdf.sums.row_mut(g)[d] += tau * mean;
            }
            if parts.variances {
                pdf.products.row_mut(g)[d] += tau * square;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::Parts;
    use crate::testing_models::model;

    fn stats(frames: &[f32]) -> ModelStats {
        let mut pdf = GmmStats::new(2, 1, Parts::ALL);
        frames.iter().for_each(|&x| pdf.add(&[x], &[1.0, 0.0]));
        ModelStats { transitions: vec![0.0], pdfs: vec![pdf], log_likelihood: 0.0, frames: 0.0 }
    }

    #[test]
    fn with_statistics() {
        let mut smoothed = stats(&[1.0, 3.0]);
        smoothed.smooth_with_stats(&stats(&[5.0, 5.0, 8.0]), 10.0).unwrap();
        let pdf = &smoothed.pdfs[0];
        assert_eq!(pdf.occupancy, [12.0, 0.0]);
        assert_eq!((pdf.sums.data[0], pdf.products.data[0]), (4.0 + 60.0, 10.0 + 380.0));
        assert_eq!((pdf.sums.data[1], pdf.products.data[1]), (0.0, 0.0));
    }

    #[test]
    fn with_a_model() {
        let model = model(1, 2, 1, 4);
        let mut smoothed = stats(&[]);
        smoothed.smooth_with_model(&model, 10.0).unwrap();
        let pdf = &smoothed.pdfs[0];
        let (mean, var) = (model.pdfs()[0].mean(1)[0], 1.0 / model.pdfs()[0].inv_vars().to_matrix().data[1]);
        assert_eq!(pdf.occupancy, [10.0, 10.0]);
        assert!((pdf.sums.data[1] as f32 - 10.0 * mean).abs() < 1e-5);
        assert!((pdf.products.data[1] as f32 - 10.0 * (var + mean * mean)).abs() < 1e-5);
        let other = crate::testing_models::model(1, 3, 1, 4);
        assert!(smoothed.smooth_with_model(&other, 1.0).unwrap_err().to_string().contains("pdf 0"));
    }
}
