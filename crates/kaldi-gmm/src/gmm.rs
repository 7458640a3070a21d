//! A mixture of Gaussians with diagonal covariances, and its file (`gmm/diag-gmm.cc`).
//!
//! A mixture stores the values that likelihoods need: means divided by variances, and inverse variances. Arithmetic is
//! in single precision if the reference's is.

use crate::error::{Error, Result};
use crate::parameters::Parameters;
use crate::random::{Rand, gauss};
use kaldi_hmm::strided_sum;
use kaldi_io::{DenseMatrix, KaldiObject, KaldiReader, KaldiWriter, read_vector, write_vector};

/// ln 2π.
pub(crate) const LOG_2PI: f64 = 1.837_877_066_409_345_4;

/// A mixture of at least one Gaussian.
#[derive(Debug, Clone, PartialEq)]
pub struct DiagGmm {
    /// The logarithm of each Gaussian's weighted density at 0.
    pub(crate) gconsts: Vec<f32>,
    pub(crate) weights: Vec<f32>,
    /// A row for each Gaussian: means divided by variances.
    pub(crate) means_invvars: Parameters,
    /// A row for each Gaussian: 1 / variances.
    pub(crate) inv_vars: Parameters,
}

impl DiagGmm {
    /// Makes a mixture of weights and, a row for each Gaussian, means divided by variances and inverse variances. Fails
    /// if there are no Gaussians, if sizes differ, or if a weight or a density is impossible.
    pub fn new(
        weights: Vec<f32>,
        means_invvars: DenseMatrix<f32>,
        inv_vars: DenseMatrix<f32>,
    ) -> Result<DiagGmm> {
        let shape = |matrix: &DenseMatrix<f32>| (matrix.rows, matrix.cols);
        if shape(&means_invvars) != shape(&inv_vars) || weights.len() != inv_vars.rows || weights.is_empty() {
            return Err(Error::data(format!(
                "a mixture has {} weights, {}×{} means and {}×{} variances",
                weights.len(),
                means_invvars.rows,
                means_invvars.cols,
                inv_vars.rows,
                inv_vars.cols
            )));
        }
        if let Some(weight) = weights.iter().find(|weight| weight.is_nan() || **weight < 0.0) {
            return Err(Error::data(format!(
                "invalid weight {weight}: expected a finite number that is not negative"
            )));
        }
        let gconsts = vec![0.0; weights.len()];
        let (means_invvars, inv_vars) = (Parameters::from(&means_invvars), Parameters::from(&inv_vars));
        let mut gmm = DiagGmm { gconsts, weights, means_invvars, inv_vars };
        gmm.compute_gconsts()?;
        Ok(gmm)
    }

    /// Makes a mixture of one Gaussian.
    pub fn single(mean: &[f32], inv_var: &[f32]) -> Result<DiagGmm> {
        let means_invvars: Vec<f32> =
            mean.iter().zip(inv_var).map(|(mean, inv_var)| mean * inv_var).collect();
        let (means_invvars, inv_vars) = ([means_invvars], [inv_var]);
        DiagGmm::new(vec![1.0], DenseMatrix::from_rows(&means_invvars), DenseMatrix::from_rows(&inv_vars))
    }

    pub fn dim(&self) -> usize {
        self.inv_vars.dim()
    }
    pub fn num_gauss(&self) -> usize {
        self.weights.len()
    }

    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// The logarithm of each Gaussian's weighted density at 0.
    pub fn gconsts(&self) -> &[f32] {
        &self.gconsts
    }

    /// A row for each Gaussian: means divided by variances.
    pub fn means_invvars(&self) -> &Parameters {
        &self.means_invvars
    }

    /// A row for each Gaussian: 1 / variances.
    pub fn inv_vars(&self) -> &Parameters {
        &self.inv_vars
    }

    /// Computes the mean of a Gaussian.
    pub fn mean(&self, component: usize) -> Vec<f32> {
        let (means, inv_vars) = (self.means_invvars.row(component), self.inv_vars.row(component));
        means.zip(inv_vars).map(|(mean, inv_var)| mean / inv_var).collect()
    }

    /// Replaces all means; a row for each Gaussian. Variances and weights stay.
    pub(crate) fn set_means(&mut self, means: &DenseMatrix<f32>) -> Result<()> {
        for g in 0..self.num_gauss() {
            for ((d, mean), inv_var) in means.row(g).iter().enumerate().zip(self.inv_vars.row(g)) {
                *self.means_invvars.get_mut(g, d) = mean * inv_var;
            }
        }
        self.compute_gconsts()
    }

    /// Multiplies all weights. They are not normalised afterwards.
    pub fn scale_weights(&mut self, factor: f32) -> Result<()> {
        self.weights.iter_mut().for_each(|weight| *weight *= factor);
        self.compute_gconsts()
    }

    /// Moves means by `factor` standard deviations times normally distributed numbers.
    pub fn perturb(&mut self, factor: f32, rand: Rand<'_>) -> Result<()> {
        for g in 0..self.num_gauss() {
            for (d, inv_var) in self.inv_vars.row(g).enumerate() {
                *self.means_invvars.get_mut(g, d) += factor * (gauss(rand) * inv_var.sqrt());
            }
        }
        self.compute_gconsts()
    }

    /// Removes Gaussians one after the other, in ascending order; each time weights are divided by their sum.
    pub(crate) fn remove(&mut self, components: &[usize]) -> Result<()> {
        for (removed, &component) in components.iter().enumerate() {
            self.weights.remove(component - removed);
            self.gconsts.remove(component - removed);
            let scale = 1.0 / strided_sum(&self.weights);
            self.weights.iter_mut().for_each(|weight| *weight *= scale);
        }
        for parameters in [&mut self.means_invvars, &mut self.inv_vars] {
            let mut matrix = parameters.to_matrix();
            for (removed, &component) in components.iter().enumerate() {
                let row = component - removed;
                matrix.data.drain(row * matrix.cols..(row + 1) * matrix.cols);
                matrix.rows -= 1;
            }
            *parameters = Parameters::from(&matrix);
        }
        self.compute_gconsts()
    }

    /// Brings [`gconsts`](Self::gconsts) up to date after a change of other parameters. Fails if a density is not a number.
    pub(crate) fn compute_gconsts(&mut self) -> Result<()> {
        let offset = (-0.5 * LOG_2PI * self.dim() as f64) as f32;
        for mix in 0..self.num_gauss() {
            let mut gconst = self.weights[mix].ln() + offset;
            for (mean, inv_var) in self.means_invvars.row(mix).zip(self.inv_vars.row(mix)) {
                let distance = 0.5 * f64::from(mean) * f64::from(mean) / f64::from(inv_var);
                gconst = (f64::from(gconst) + (0.5 * f64::from(inv_var.ln()) - distance)) as f32;
            }
            if gconst.is_nan() {
                return Err(Error::data(format!("the density of component {mix} of a mixture is NaN")));
            }
            self.gconsts[mix] = if gconst == f32::INFINITY { -gconst } else { gconst };
        }
        Ok(())
    }
}

impl KaldiObject for DiagGmm {
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<DiagGmm> {
        let token = r.read_token()?;
        if !matches!(token.as_str(), "<DiagGMM>" | "<DiagGMMBegin>") {
            return Err(r.error(format!("expected <DiagGMM>, found '{token}'")));
        }
        // Gconsts in files are ignored; they may be absent.
        match r.read_token()?.as_str() {
            "<WEIGHTS>" => {}
            "<GCONSTS>" => {
                read_vector::<f32>(r)?;
                r.expect_token("<WEIGHTS>")?;
            }
            other => return Err(r.error(format!("expected <WEIGHTS> or <GCONSTS>, found '{other}'"))),
        }
        let weights = read_vector::<f32>(r)?;
        r.expect_token("<MEANS_INVVARS>")?;
        let means_invvars = DenseMatrix::<f32>::read(r)?;
        r.expect_token("<INV_VARS>")?;
        let inv_vars = DenseMatrix::<f32>::read(r)?;
        let token = r.read_token()?;
        if !matches!(token.as_str(), "</DiagGMM>" | "<DiagGMMEnd>") {
            return Err(r.error(format!("expected </DiagGMM>, found '{token}'")));
        }
        DiagGmm::new(weights, means_invvars, inv_vars).map_err(|e| r.error(e.to_string()))
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        w.write_token("<DiagGMM>")?;
        w.newline_in_text()?;
        w.write_token("<GCONSTS>")?;
        write_vector(w, &self.gconsts)?;
        w.write_token("<WEIGHTS>")?;
        write_vector(w, &self.weights)?;
        w.write_token("<MEANS_INVVARS>")?;
        self.means_invvars.to_matrix().write(w)?;
        w.write_token("<INV_VARS>")?;
        self.inv_vars.to_matrix().write(w)?;
        w.write_token("</DiagGMM>")?;
        w.newline_in_text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn densities() {
        let means = DenseMatrix::from_rows(&[[2.0f32, 10.0], [0.5, -1.0]]);
        let gmm = DiagGmm::new(vec![0.25, 0.75], means, DenseMatrix::from_rows(&[[1.0f32, 2.0], [0.5, 1.0]]))
            .unwrap();
        assert_eq!(
            (gmm.dim(), gmm.num_gauss(), gmm.mean(0), gmm.mean(1)),
            (2, 2, vec![2.0, 5.0], vec![1.0, -1.0])
        );
        // The density at 0, by its formula.
        let of = |mean: f32, var: f32| -0.5 * (mean * mean / var + (2.0 * std::f32::consts::PI * var).ln());
        assert!((gmm.gconsts[0] - 0.25f32.ln() - of(2.0, 1.0) - of(5.0, 0.5)).abs() < 1e-4);
        assert!((gmm.gconsts[1] - 0.75f32.ln() - of(1.0, 2.0) - of(-1.0, 1.0)).abs() < 1e-4);
    }

    #[test]
    fn removal_normalises_weights() {
        let rows = DenseMatrix::from_rows(&[[1.0f32], [2.0], [3.0], [4.0]]);
        let mut gmm = DiagGmm::new(vec![0.1, 0.2, 0.3, 0.4], rows.clone(), rows).unwrap();
        gmm.remove(&[0, 2]).unwrap();
        assert_eq!(gmm.inv_vars.to_matrix().data, [2.0, 4.0]);
        assert!((gmm.weights[0] - 1.0 / 3.0).abs() < 1e-6 && (gmm.weights[1] - 2.0 / 3.0).abs() < 1e-6);
        assert_eq!((gmm.gconsts.len(), gmm.means_invvars.to_matrix().rows), (2, 2));
    }
}
