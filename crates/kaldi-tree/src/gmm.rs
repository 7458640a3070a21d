//! Mixtures of Gaussians with diagonal covariances, one for each pdf, and their files (`gmm/`).
//!
//! They are written for scripts that expect them after a transition model. Nothing here trains them.

use crate::clusterable::Clusterable;
use crate::error::{Error, Result};
use crate::gauss::Gauss;
use kaldi_io::{DenseMatrix, KaldiObject, KaldiReader, KaldiWriter, read_vector, write_vector};

const LOG_2PI: f64 = 1.837_877_066_409_345_4;

/// A mixture. All arithmetic is in single precision where the reference's is.
#[derive(Debug, Clone, PartialEq)]
pub struct DiagGmm {
    /// The logarithm of each Gaussian's weighted density at 0.
    gconsts: Vec<f32>,
    weights: Vec<f32>,
    /// A row for each Gaussian: means divided by variances.
    means_invvars: DenseMatrix<f32>,
    /// A row for each Gaussian: 1 / variances.
    inv_vars: DenseMatrix<f32>,
}

impl DiagGmm {
    /// One Gaussian.
    pub fn single(mean: &[f32], inv_var: &[f32]) -> Result<DiagGmm> {
        let means_invvars =
            mean.iter().zip(inv_var).map(|(mean, inv_var)| mean * inv_var).collect::<Vec<_>>();
        let mut gmm = DiagGmm {
            gconsts: vec![0.0],
            weights: vec![1.0],
            means_invvars: DenseMatrix::from_rows(&[means_invvars]),
            inv_vars: DenseMatrix::from_rows(&[inv_var]),
        };
        gmm.compute_gconsts()?;
        Ok(gmm)
    }

    /// The Gaussian of statistics, with variances of at least `var_floor`.
    pub fn from_stats(stats: &Gauss, var_floor: f32) -> Result<DiagGmm> {
        let count = stats.normalizer();
        if count.is_nan() || count <= 0.0 {
            return Err(Error::stats("a Gaussian needs statistics with a count above 0"));
        }
        let scale = (1.0 / f64::from(count)) as f32;
        let mean: Vec<f32> = stats.x().iter().map(|&x| x as f32 * scale).collect();
        let squares = stats.x2().iter().map(|&x2| x2 as f32 * scale);
        let inv_var: Vec<f32> = squares
            .zip(&mean)
            .map(|(square, mean)| {
                let var = square + -1.0 * mean * mean;
                1.0 / if var < var_floor { var_floor } else { var }
            })
            .collect();
        if let Some(value) = inv_var.iter().find(|value| !(value.is_finite() && **value > 0.0)) {
            return Err(Error::stats(format!(
                "a Gaussian's variance cannot be 1 / {value}; raise the floor"
            )));
        }
        DiagGmm::single(&mean, &inv_var)
    }

    pub fn dim(&self) -> usize {
        self.inv_vars.cols
    }
    pub fn num_gauss(&self) -> usize {
        self.weights.len()
    }

    /// The logarithm of each Gaussian's weighted density at 0.
    pub fn gconsts(&self) -> &[f32] {
        &self.gconsts
    }

    /// A row for each Gaussian: means divided by variances.
    pub fn means_invvars(&self) -> &DenseMatrix<f32> {
        &self.means_invvars
    }

    /// A row for each Gaussian: 1 / variances.
    pub fn inv_vars(&self) -> &DenseMatrix<f32> {
        &self.inv_vars
    }

    /// Moves means by `factor` standard deviations times what `gauss` gives.
    pub fn perturb(&mut self, factor: f32, gauss: &mut dyn FnMut() -> f32) -> Result<()> {
        for (mean, inv_var) in self.means_invvars.data.iter_mut().zip(&self.inv_vars.data) {
            *mean += factor * (gauss() * inv_var.sqrt());
        }
        self.compute_gconsts()
    }

    fn compute_gconsts(&mut self) -> Result<()> {
        let offset = (-0.5 * LOG_2PI * self.dim() as f64) as f32;
        for mix in 0..self.num_gauss() {
            let mut gconst = self.weights[mix].ln() + offset;
            for (&mean, &inv_var) in self.means_invvars.row(mix).iter().zip(self.inv_vars.row(mix)) {
                let distance = 0.5 * f64::from(mean) * f64::from(mean) / f64::from(inv_var);
                gconst = (f64::from(gconst) + (0.5 * f64::from(inv_var.ln()) - distance)) as f32;
            }
            if gconst.is_nan() {
                return Err(Error::stats(format!(
                    "the density of component {mix} of a mixture is not a number"
                )));
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
        // What files say of gconsts is not trusted; they may say nothing.
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
        let shape = |matrix: &DenseMatrix<f32>| (matrix.rows, matrix.cols);
        if shape(&means_invvars) != shape(&inv_vars) || weights.len() != inv_vars.rows || weights.is_empty() {
            return Err(r.error(format!(
                "a mixture has {} weights, {}×{} means and {}×{} variances",
                weights.len(),
                means_invvars.rows,
                means_invvars.cols,
                inv_vars.rows,
                inv_vars.cols
            )));
        }
        if let Some(weight) = weights.iter().find(|weight| weight.is_nan() || **weight < 0.0) {
            return Err(r.error(format!("{weight} is not a possible weight")));
        }
        let mut gmm = DiagGmm { gconsts: vec![0.0; weights.len()], weights, means_invvars, inv_vars };
        gmm.compute_gconsts().map_err(|e| r.error(e.to_string()))?;
        Ok(gmm)
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        w.write_token("<DiagGMM>")?;
        w.newline_in_text()?;
        w.write_token("<GCONSTS>")?;
        write_vector(w, &self.gconsts)?;
        w.write_token("<WEIGHTS>")?;
        write_vector(w, &self.weights)?;
        w.write_token("<MEANS_INVVARS>")?;
        self.means_invvars.write(w)?;
        w.write_token("<INV_VARS>")?;
        self.inv_vars.write(w)?;
        w.write_token("</DiagGMM>")?;
        w.newline_in_text()
    }
}

/// A mixture for each pdf: what follows the transition model in a model of Gaussians.
#[derive(Debug, Clone, PartialEq)]
pub struct AmDiagGmm {
    pdfs: Vec<DiagGmm>,
}

impl AmDiagGmm {
    /// An error if there are none, or their dimensions differ.
    pub fn new(pdfs: Vec<DiagGmm>) -> Result<AmDiagGmm> {
        let Some(first) = pdfs.first() else { return Err(Error::stats("there are no pdfs")) };
        match pdfs.iter().position(|pdf| pdf.dim() != first.dim()) {
            Some(pdf) => Err(Error::stats(format!("pdf {pdf} differs in dimension from pdf 0"))),
            None => Ok(AmDiagGmm { pdfs }),
        }
    }

    pub fn dim(&self) -> usize {
        self.pdfs[0].dim()
    }
    pub fn pdfs(&self) -> &[DiagGmm] {
        &self.pdfs
    }
    pub fn num_gauss(&self) -> usize {
        self.pdfs.iter().map(DiagGmm::num_gauss).sum()
    }
}

impl KaldiObject for AmDiagGmm {
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<AmDiagGmm> {
        r.expect_token("<DIMENSION>")?;
        let dim = r.read_i32().and_then(|n| r.check_count(n, "dimensions"))?;
        r.expect_token("<NUMPDFS>")?;
        let count = r.read_i32().and_then(|n| r.check_count(n, "pdfs"))?;
        let mut pdfs = Vec::new();
        for pdf in 0..count {
            let gmm = DiagGmm::read(r)?;
            if gmm.dim() != dim {
                return Err(r.error(format!("pdf {pdf} has dimension {}, the model has {dim}", gmm.dim())));
            }
            pdfs.push(gmm);
        }
        AmDiagGmm::new(pdfs).map_err(|e| r.error(e.to_string()))
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        w.write_token("<DIMENSION>")?;
        w.write_i32(self.dim() as i32)?;
        w.write_token("<NUMPDFS>")?;
        w.write_i32(self.pdfs.len() as i32)?;
        self.pdfs.iter().try_for_each(|pdf| pdf.write(w))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{from_text, in_both_forms};

    #[test]
    fn a_gaussian_of_vectors() {
        let mut stats = Gauss::new(2, 0.01);
        for frame in [[1.0, 5.0], [3.0, 5.0]] {
            stats.add_frame(&frame);
        }
        // Means 2 and 5, variances 1 and the floor.
        let gmm = DiagGmm::from_stats(&stats, 0.5).unwrap();
        assert_eq!((gmm.dim(), gmm.num_gauss()), (2, 1));
        assert_eq!(
            (gmm.inv_vars.data.clone(), gmm.means_invvars.data.clone()),
            (vec![1.0, 2.0], vec![2.0, 10.0])
        );
        // The density at 0, by its formula.
        let of = |mean: f32, var: f32| -0.5 * (mean * mean / var + (2.0 * std::f32::consts::PI * var).ln());
        assert!((gmm.gconsts[0] - of(2.0, 1.0) - of(5.0, 0.5)).abs() < 1e-4);
        assert!(DiagGmm::from_stats(&stats, 0.0).is_err());
        assert!(DiagGmm::from_stats(&Gauss::new(2, 0.01), 0.5).is_err());
    }

    #[test]
    fn files() {
        let model = AmDiagGmm::new(vec![DiagGmm::single(&[1.0, -2.0], &[1.0, 4.0]).unwrap(); 2]).unwrap();
        let (text, binary) = in_both_forms(&model);
        assert!(text.starts_with("<DIMENSION> 2 <NUMPDFS> 2 <DiagGMM> \n<GCONSTS>  [ "), "{text}");
        assert!(
            binary.starts_with(b"<DIMENSION> \x04\x02\0\0\0<NUMPDFS> \x04\x02\0\0\0<DiagGMM> <GCONSTS> FV ")
        );
        let refused = |old: &str, new: &str, words: &str| {
            assert!(text.contains(old), "{old}");
            let error = from_text::<AmDiagGmm>(&text.replace(old, new)).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        refused("<NUMPDFS> 2", "<NUMPDFS> 0", "there are no pdfs");
        refused("<DIMENSION> 2", "<DIMENSION> 3", "pdf 0 has dimension 2, the model has 3");
        refused("<WEIGHTS>  [ 1 ]", "<WEIGHTS>  [ 1 1 ]", "2 weights");
        refused("<WEIGHTS>  [ 1 ]", "<WEIGHTS>  [ -1 ]", "-1 is not a possible weight");
        refused("<DiagGMM>", "<FullGMM>", "found '<FullGMM>'");
        for end in 0..text.len() - 2 {
            assert!(from_text::<AmDiagGmm>(&text[..end]).is_err(), "{end}");
        }
        let (start, rest) = text.split_once("<GCONSTS>").unwrap();
        let without = format!("{start}{}", &rest[rest.find("<WEIGHTS>").unwrap()..]);
        assert_eq!(from_text::<AmDiagGmm>(&without).unwrap(), model);
    }
}
