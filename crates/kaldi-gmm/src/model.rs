//! Models of Gaussians: a mixture for each pdf (`gmm/am-diag-gmm.cc`).

use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::gmm::DiagGmm;
use kaldi_hmm::TransitionModel;
use kaldi_io::{DenseMatrix, KaldiObject, KaldiReader, KaldiWriter};

/// A mixture for each pdf: the second part of a model of Gaussians, after the transition model.
#[derive(Debug, Clone, PartialEq)]
pub struct AmDiagGmm {
    pub(crate) pdfs: Vec<DiagGmm>,
}

impl AmDiagGmm {
    /// Makes a model. It is an error if there are no pdfs, or if their dimensions differ.
    pub fn new(pdfs: Vec<DiagGmm>) -> Result<AmDiagGmm> {
        let Some(first) = pdfs.first() else { return Err(Error::data("there are no pdfs")) };
        match pdfs.iter().position(|pdf| pdf.dim() != first.dim()) {
            Some(pdf) => Err(Error::data(format!("pdf {pdf} differs in dimension from pdf 0"))),
            None => Ok(AmDiagGmm { pdfs }),
        }
    }

    /// Makes a model in which all pdfs have the same mixture.
    pub fn flat(gmm: &DiagGmm, num_pdfs: usize) -> Result<AmDiagGmm> {
        AmDiagGmm::new(vec![gmm.clone(); num_pdfs])
    }

    pub fn dim(&self) -> usize {
        self.pdfs[0].dim()
    }
    pub fn pdfs(&self) -> &[DiagGmm] {
        &self.pdfs
    }

    /// The mixture of a pdf; an error if the model has no such pdf.
    pub fn pdf(&self, pdf: i32) -> Result<&DiagGmm> {
        let found = usize::try_from(pdf).ok().and_then(|pdf| self.pdfs.get(pdf));
        found.ok_or_else(|| Error::data(format!("the model has {} pdfs, but no pdf {pdf}", self.pdfs.len())))
    }

    /// An error unless the transition model's pdfs all have mixtures.
    pub fn check_transitions(&self, transitions: &TransitionModel) -> Result<()> {
        let (needed, found) = (transitions.num_pdfs(), self.pdfs.len());
        if needed > found {
            return Err(Error::data(format!(
                "the transition model has {needed} pdfs, but there are mixtures for {found}"
            )));
        }
        Ok(())
    }

    /// An error unless features have the model's dimension.
    pub fn check_features(&self, features: &DenseMatrix<f32>) -> Result<()> {
        if features.rows > 0 && features.cols != self.dim() {
            return Err(Error::data(format!(
                "Dim mismatch: data dim = {} vs. model dim = {}",
                features.cols,
                self.dim()
            )));
        }
        Ok(())
    }

    /// The number of Gaussians of all pdfs.
    pub fn num_gauss(&self) -> usize {
        self.pdfs.iter().map(DiagGmm::num_gauss).sum()
    }
}

impl AmDiagGmm {
    /// Multiplies the weights of pdfs. They are not normalised afterwards. Fails for a pdf that does not exist.
    pub fn boost(&mut self, pdfs: &BTreeSet<i32>, factor: f32) -> Result<()> {
        for &pdf in pdfs {
            self.pdf(pdf)?;
            self.pdfs[pdf as usize].scale_weights(factor)?;
        }
        Ok(())
    }

    /// Multiplies all means by a transform, a D×D or D×(D+1) matrix; the last column of the latter is an offset. Variances
    /// stay.
    pub fn transform_means(&mut self, transform: &DenseMatrix<f32>) -> Result<()> {
        let dim = self.dim();
        if transform.rows != dim {
            return Err(Error::data(format!(
                "Transform matrix has {} rows but model has dimension {dim}",
                transform.rows
            )));
        }
        if transform.cols != dim && transform.cols != dim + 1 {
            return Err(Error::data(format!(
                "Transform matrix has {} columns but model has dimension {dim} (neither a linear nor an affine transform)",
                transform.cols
            )));
        }
        for pdf in &mut self.pdfs {
            let mut means = DenseMatrix::new(pdf.num_gauss(), dim);
            for component in 0..pdf.num_gauss() {
                let mean = pdf.mean(component);
                for (d, out) in means.row_mut(component).iter_mut().enumerate() {
                    let row = transform.row(d);
                    let offset = row.get(dim).copied().unwrap_or_default();
                    *out = offset + row[..dim].iter().zip(&mean).map(|(a, x)| a * x).sum::<f32>();
                }
            }
            pdf.set_means(&means)?;
        }
        Ok(())
    }
}

impl KaldiObject for AmDiagGmm {
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<AmDiagGmm> {
        if r.peek_token()? == Some(b'N') {
            let token = r.read_token()?;
            let found = match token.trim_start_matches('<') {
                "Nnet3>" => {
                    "one of a neural network: nnet3-latgen-faster decodes with it, and programs that begin with nnet3- read it"
                }
                _ => "one of another kind",
            };
            return Err(r.error(format!("expected an acoustic model of Gaussians, found {found}")));
        }
        r.expect_token("<DIMENSION>")?;
        let dim = r.read_i32().and_then(|n| r.check_count(n, "dimensions"))?;
        r.expect_token("<NUMPDFS>")?;
        let count = r.read_i32().and_then(|n| r.check_count(n, "pdfs"))?;
        // A file that claims many pdfs must have them.
        let mut pdfs = Vec::with_capacity(count.min(1 << 13));
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
    fn a_network_in_place_of_gaussians_is_named_with_its_programs() {
        let mut r = KaldiReader::from_bytes("final.mdl", b"<Nnet3> \n".to_vec());
        let error = AmDiagGmm::read(&mut r).unwrap_err().to_string();
        assert!(error.contains("found one of a neural network: nnet3-latgen-faster"), "{error}");
    }

    #[test]
    fn means_and_weights() {
        let mut model = AmDiagGmm::flat(&DiagGmm::single(&[1.0, -2.0], &[1.0, 4.0]).unwrap(), 2).unwrap();
        let affine = DenseMatrix::from_rows(&[[1.0f32, 1.0, 0.5], [2.0, 0.0, -1.0]]);
        model.transform_means(&affine).unwrap();
        assert_eq!(model.pdfs()[1].mean(0), [-0.5, 1.0]);
        assert_eq!(model.pdfs()[0].inv_vars().to_matrix().data, [1.0, 4.0]);
        model.transform_means(&affine.block(0, 2, 0, 2)).unwrap();
        assert_eq!(model.pdfs()[0].mean(0), [0.5, -1.0]);
        let wrong = |rows, cols| {
            model.clone().transform_means(&DenseMatrix::new(rows, cols)).unwrap_err().to_string()
        };
        assert!(wrong(3, 2).contains("3 rows") && wrong(2, 4).contains("4 columns"));

        let gconst = model.pdfs()[1].gconsts()[0];
        model.boost(&BTreeSet::from([1]), 2.0).unwrap();
        assert_eq!((model.pdfs()[0].weights()[0], model.pdfs()[1].weights()[0]), (1.0, 2.0));
        assert!((model.pdfs()[1].gconsts()[0] - gconst - 2f32.ln()).abs() < 1e-6);
        assert!(model.boost(&BTreeSet::from([2]), 2.0).is_err());
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
        refused("<WEIGHTS>  [ 1 ]", "<WEIGHTS>  [ -1 ]", "invalid weight -1");
        refused("<DiagGMM>", "<FullGMM>", "found '<FullGMM>'");
        for end in 0..text.len() - 2 {
            assert!(from_text::<AmDiagGmm>(&text[..end]).is_err(), "{end}");
        }
        let (start, rest) = text.split_once("<GCONSTS>").unwrap();
        let without = format!("{start}{}", &rest[rest.find("<WEIGHTS>").unwrap()..]);
        assert_eq!(from_text::<AmDiagGmm>(&without).unwrap(), model);
    }
}
