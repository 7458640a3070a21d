//! A mixture of Gaussians with full covariances, and its file (`gmm/full-gmm.cc`).
//!
//! As in [`DiagGmm`], parameters are in the form in which likelihoods are computed: inverse covariances Σ⁻¹ and means
//! multiplied by them. Parameters are in single precision; what is derived from them is computed in double precision.

use crate::covariance::cholesky;
use crate::error::{Error, Result};
use crate::gmm::{DiagGmm, LOG_2PI};
use kaldi_io::{
    DenseMatrix, KaldiObject, KaldiReader, KaldiWriter, SymmetricMatrix, read_vector, write_vector,
};
use kaldi_numerics::determinant::log_determinant;
use kaldi_numerics::symmetric::{dense, packed};
use nalgebra::{DMatrix, DVector};

/// A mixture of at least one Gaussian.
#[derive(Debug, Clone, PartialEq)]
pub struct FullGmm {
    /// The logarithm of each Gaussian's weighted density at 0.
    pub(crate) gconsts: Vec<f32>,
    pub(crate) weights: Vec<f32>,
    /// A row for each Gaussian: Σ⁻¹ μ.
    pub(crate) means_invcovars: DenseMatrix<f32>,
    /// Σ⁻¹ of each Gaussian.
    pub(crate) inv_covars: Vec<SymmetricMatrix<f32>>,
}

/// Mean and covariance of a Gaussian.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Moments {
    pub mean: DVector<f64>,
    pub covariance: DMatrix<f64>,
}

impl FullGmm {
    /// Makes a mixture of weights, a row Σ⁻¹ μ for each Gaussian, and inverse covariances Σ⁻¹. An error if there are no
    /// Gaussians or dimensions, if sizes differ, or if a weight, a covariance or a density is impossible.
    pub fn new(
        weights: Vec<f32>,
        means_invcovars: DenseMatrix<f32>,
        inv_covars: Vec<SymmetricMatrix<f32>>,
    ) -> Result<FullGmm> {
        let (rows, dim) = (means_invcovars.rows, means_invcovars.cols);
        if weights.is_empty() || dim == 0 || (weights.len(), inv_covars.len()) != (rows, rows) {
            return Err(Error::data(format!(
                "a mixture has {} weights, {rows}×{dim} means and {} covariances",
                weights.len(),
                inv_covars.len()
            )));
        }
        if let Some((mix, covar)) = inv_covars.iter().enumerate().find(|(_, covar)| covar.dim != dim) {
            return Err(Error::data(format!(
                "component {mix} of a mixture has means of dimension {dim} and a covariance of dimension {}",
                covar.dim
            )));
        }
        if let Some(weight) = weights.iter().find(|weight| weight.is_nan() || **weight < 0.0) {
            return Err(Error::data(format!(
                "invalid weight {weight}: expected a finite number that is not negative"
            )));
        }
        let mut gmm = FullGmm { gconsts: vec![0.0; rows], weights, means_invcovars, inv_covars };
        gmm.compute_gconsts()?;
        Ok(gmm)
    }

    /// Makes the mixture with the same Gaussians as one with diagonal covariances.
    pub fn from_diag(gmm: &DiagGmm) -> Result<FullGmm> {
        let inv_covar = |g: usize| {
            let mut out = SymmetricMatrix::new(gmm.dim());
            for (d, inv_var) in gmm.inv_vars().row(g).enumerate() {
                out.data[SymmetricMatrix::<f32>::offset(d, d)] = inv_var;
            }
            out
        };
        let inv_covars = (0..gmm.num_gauss()).map(inv_covar).collect();
        FullGmm::new(gmm.weights().to_vec(), gmm.means_invvars().to_matrix(), inv_covars)
    }

    /// Makes the mixture with the same weights and means, and the variances of the single dimensions.
    pub fn to_diag(&self) -> Result<DiagGmm> {
        let (mut means, mut inv_vars) = (Vec::new(), Vec::new());
        for g in 0..self.num_gauss() {
            let Moments { mean, covariance } = self.moments(g)?;
            let inv_var: Vec<f32> = covariance.diagonal().iter().map(|var| (1.0 / var) as f32).collect();
            means.push(
                mean.iter().zip(&inv_var).map(|(&mean, inv_var)| mean as f32 * inv_var).collect::<Vec<f32>>(),
            );
            inv_vars.push(inv_var);
        }
        DiagGmm::new(self.weights.clone(), DenseMatrix::from_rows(&means), DenseMatrix::from_rows(&inv_vars))
    }

    pub fn dim(&self) -> usize {
        self.means_invcovars.cols
    }
    pub fn num_gauss(&self) -> usize {
        self.weights.len()
    }
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// The logarithm of each Gaussian's weighted density at 0: ln w − ½D ln 2π − ½(ln|Σ| + μᵀ Σ⁻¹ μ).
    pub fn gconsts(&self) -> &[f32] {
        &self.gconsts
    }

    /// A row for each Gaussian: Σ⁻¹ μ.
    pub fn means_invcovars(&self) -> &DenseMatrix<f32> {
        &self.means_invcovars
    }

    /// Σ⁻¹ of each Gaussian.
    pub fn inv_covars(&self) -> &[SymmetricMatrix<f32>] {
        &self.inv_covars
    }

    /// Computes the mean μ of a Gaussian. An error if its covariance cannot be inverted.
    pub fn mean(&self, component: usize) -> Result<Vec<f64>> {
        Ok(self.moments(component)?.mean.as_slice().to_vec())
    }

    /// Computes the covariance Σ of a Gaussian. An error if Σ⁻¹ cannot be inverted.
    pub fn covariance(&self, component: usize) -> Result<SymmetricMatrix<f64>> {
        Ok(packed(&self.moments(component)?.covariance))
    }

    /// Computes mean and covariance of a Gaussian.
    pub(crate) fn moments(&self, component: usize) -> Result<Moments> {
        let what = format!("inverse covariance of component {component}");
        let covariance = cholesky(dense(&self.inv_covars[component]), &what)?.inverse();
        let mean = &covariance * self.mean_invcovar(component);
        Ok(Moments { mean, covariance })
    }

    fn mean_invcovar(&self, component: usize) -> DVector<f64> {
        let row = self.means_invcovars.row(component);
        DVector::from_iterator(row.len(), row.iter().map(|&x| x.into()))
    }

    /// Brings [`gconsts`](Self::gconsts) up to date. An error if a density is not a number.
    pub(crate) fn compute_gconsts(&mut self) -> Result<()> {
        for mix in 0..self.num_gauss() {
            let what = format!("inverse covariance of component {mix} of a mixture");
            let factor = cholesky(dense(&self.inv_covars[mix]), &what)?;
            let mean_invcovar = self.mean_invcovar(mix);
            let distance = mean_invcovar.dot(&factor.solve(&mean_invcovar));
            let gconst = f64::from(self.weights[mix]).ln() - 0.5 * LOG_2PI * self.dim() as f64
                + 0.5 * (log_determinant(&factor) - distance);
            if gconst.is_nan() {
                return Err(Error::data(format!("the density of component {mix} of a mixture is NaN")));
            }
            self.gconsts[mix] = if gconst == f64::INFINITY { f32::NEG_INFINITY } else { gconst as f32 };
        }
        Ok(())
    }
}

impl KaldiObject for FullGmm {
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<FullGmm> {
        let token = r.read_token()?;
        if !matches!(token.as_str(), "<FullGMM>" | "<FullGMMBegin>") {
            return Err(r.error(format!("expected <FullGMM>, found '{token}'")));
        }
        // The constants are computed again; old files have none.
        match r.read_token()?.as_str() {
            "<WEIGHTS>" => {}
            "<GCONSTS>" => {
                read_vector::<f32>(r)?;
                r.expect_token("<WEIGHTS>")?;
            }
            other => return Err(r.error(format!("expected <WEIGHTS> or <GCONSTS>, found '{other}'"))),
        }
        let weights = read_vector::<f32>(r)?;
        r.expect_token("<MEANS_INVCOVARS>")?;
        let means_invcovars = DenseMatrix::<f32>::read(r)?;
        r.expect_token("<INV_COVARS>")?;
        let mut inv_covars = Vec::new();
        for _ in 0..weights.len() {
            inv_covars.push(SymmetricMatrix::<f32>::read(r)?);
        }
        let token = r.read_token()?;
        if !matches!(token.as_str(), "</FullGMM>" | "<FullGMMEnd>") {
            return Err(r.error(format!("expected </FullGMM>, found '{token}'")));
        }
        FullGmm::new(weights, means_invcovars, inv_covars).map_err(|e| r.error(e.to_string()))
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        w.write_token("<FullGMM>")?;
        w.newline_in_text()?;
        w.write_token("<GCONSTS>")?;
        write_vector(w, &self.gconsts)?;
        w.write_token("<WEIGHTS>")?;
        write_vector(w, &self.weights)?;
        w.write_token("<MEANS_INVCOVARS>")?;
        self.means_invcovars.write(w)?;
        w.write_token("<INV_COVARS>")?;
        self.inv_covars.iter().try_for_each(|covar| covar.write(w))?;
        w.write_token("</FullGMM>")?;
        w.newline_in_text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::from_text;
    use crate::testing_models::{both_forms, full_mixture, mixture};

    #[test]
    fn the_density_at_zero() {
        // Σ⁻¹ = [2 1; 1 2], |Σ| = 1/3, μ = Σ (1, 4)ᵀ = (−2/3, 7/3).
        let inv_covar = SymmetricMatrix { dim: 2, data: vec![2.0, 1.0, 2.0] };
        let gmm =
            FullGmm::new(vec![0.25], DenseMatrix::from_rows(&[[1.0f32, 4.0]]), vec![inv_covar]).unwrap();
        let mean = gmm.mean(0).unwrap();
        assert!((mean[0] + 2.0 / 3.0).abs() < 1e-6 && (mean[1] - 7.0 / 3.0).abs() < 1e-6);
        let expected = 0.25f64.ln() - LOG_2PI - 0.5 * (-(3f64.ln()) + mean[0] + 4.0 * mean[1]);
        assert!((f64::from(gmm.gconsts()[0]) - expected).abs() < 1e-6);
        assert!((gmm.covariance(0).unwrap().get(1, 0) + 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn diagonal_covariances_there_and_back() {
        let diag = mixture(3, 4, 11);
        let full = FullGmm::from_diag(&diag).unwrap();
        assert_eq!((full.num_gauss(), full.dim(), full.weights()), (3, 4, diag.weights()));
        for (a, b) in full.gconsts().iter().zip(diag.gconsts()) {
            assert!((a - b).abs() < 1e-4, "{a} {b}");
        }
        let back = full.to_diag().unwrap();
        for (back, diag) in [(back.means_invvars(), diag.means_invvars()), (back.inv_vars(), diag.inv_vars())]
        {
            for (a, b) in back.to_matrix().data.iter().zip(&diag.to_matrix().data) {
                assert!((a - b).abs() < 1e-5, "{a} {b}");
            }
        }
        // Variances are those of the covariance, not the inverses of the diagonal of Σ⁻¹.
        let full = full_mixture(2, 3, 5);
        let var = full.covariance(1).unwrap().get(2, 2);
        assert!((1.0 / f64::from(full.to_diag().unwrap().inv_vars().get(1, 2)) - var).abs() < 1e-5 * var);
    }

    #[test]
    fn files() {
        let (text, _) = both_forms(&full_mixture(2, 3, 5));
        assert!(text.starts_with("<FullGMM> \n<GCONSTS>  [ ") && text.ends_with("</FullGMM> \n"), "{text}");
        assert!(text.contains("<INV_COVARS> [\n"), "{text}");
        let old = text.replace("<FullGMM>", "<FullGMMBegin>").replace("</FullGMM>", "<FullGMMEnd>");
        assert_eq!(from_text::<FullGmm>(&old).unwrap(), from_text::<FullGmm>(&text).unwrap());
        let refused = |text: &str, words: &str| {
            let error = from_text::<FullGmm>(text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        refused(&text.replace("<FullGMM>", "<DiagGMM>"), "expected <FullGMM>, found '<DiagGMM>'");
        refused(&text.replace("</FullGMM>", "</DiagGMM>"), "expected </FullGMM>");
        let one = |weight: &str, covar: &str| {
            format!(
                "<FullGMM> <WEIGHTS> [ {weight} ] <MEANS_INVCOVARS> [\n1 2 ] <INV_COVARS> [\n{covar} ]\n</FullGMM> "
            )
        };
        from_text::<FullGmm>(&one("1", "2\n1 2")).unwrap();
        refused(
            &one("1", "1\n2 1"),
            "inverse covariance of component 0 of a mixture is not positive definite",
        );
        refused(&one("1", "2"), "means of dimension 2 and a covariance of dimension 1");
        refused(&one("-1", "2\n1 2"), "invalid weight -1");
        refused("<FullGMM> <WEIGHTS> [ ] <MEANS_INVCOVARS> [ ] <INV_COVARS> </FullGMM> ", "0 weights");
    }
}
