//! The model that says how an i-vector moves the means of Gaussians, and its file (`final.ie`).

use kaldi_io::{
    DenseMatrix, KaldiObject, KaldiReader, KaldiWriter, SymmetricMatrix, read_vector, write_vector,
};

/// The mean of Gaussian g is M_g x, where x is the i-vector. The prior of x is normal with unit variance around
/// (`prior_offset`, 0, 0, …).
#[derive(Debug, Clone, PartialEq)]
pub struct IvectorExtractor {
    pub weights: Weights,
    /// M_g: feature dimension × i-vector dimension, one for each Gaussian.
    pub projections: Vec<DenseMatrix<f64>>,
    /// Σ_g⁻¹, the inverse covariance of each Gaussian.
    pub inverse_covariances: Vec<SymmetricMatrix<f64>>,
    pub prior_offset: f64,
}

/// Weights of the Gaussians.
#[derive(Debug, Clone, PartialEq)]
pub enum Weights {
    /// A weight for each Gaussian.
    Fixed(Vec<f64>),
    /// Weights that depend on the i-vector x: softmax(W x), with a row of W for each Gaussian.
    Regression(DenseMatrix<f64>),
}

impl IvectorExtractor {
    pub fn num_gauss(&self) -> usize {
        self.projections.len()
    }
    pub fn feature_dim(&self) -> usize {
        self.projections.first().map_or(0, |m| m.rows)
    }
    pub fn ivector_dim(&self) -> usize {
        self.projections.first().map_or(0, |m| m.cols)
    }

    /// Describes the first part that does not fit the others or is not finite.
    fn problem(&self) -> Option<String> {
        let (count, rows, cols) = (self.num_gauss(), self.feature_dim(), self.ivector_dim());
        if count == 0 || rows == 0 {
            return Some("an i-vector extractor needs Gaussians of at least one dimension".to_owned());
        }
        let weights = match &self.weights {
            Weights::Fixed(weights) if weights.len() != count => Some(weights.len()),
            Weights::Regression(w) if (w.rows, w.cols) != (count, cols) => {
                return Some(format!("<w> is {}×{}, expected {count}×{cols}", w.rows, w.cols));
            }
            _ => None,
        };
        if weights.is_some() || self.inverse_covariances.len() != count {
            return Some(format!(
                "an i-vector extractor has {count} projections, {} weights and {} inverse covariances",
                weights.unwrap_or(count),
                self.inverse_covariances.len()
            ));
        }
        for (g, m) in self.projections.iter().enumerate() {
            if (m.rows, m.cols) != (rows, cols) {
                return Some(format!("projection {g} is {}×{}, projection 0 {rows}×{cols}", m.rows, m.cols));
            }
        }
        for (g, s) in self.inverse_covariances.iter().enumerate() {
            if s.dim != rows {
                return Some(format!("inverse covariance {g} has dimension {}, expected {rows}", s.dim));
            }
        }
        let weights = match &self.weights {
            Weights::Fixed(weights) => weights,
            Weights::Regression(w) => &w.data,
        };
        let numbers = weights.iter().chain(self.projections.iter().flat_map(|m| &m.data));
        let numbers = numbers.chain(self.inverse_covariances.iter().flat_map(|s| &s.data));
        if let Some(number) = numbers.copied().find(|number| !number.is_finite()) {
            return Some(format!("{number} in an i-vector extractor: expected finite numbers"));
        }
        let offset = self.prior_offset;
        (!offset.is_finite() || offset == 0.0)
            .then(|| format!("{offset} is not a possible offset of i-vectors"))
    }
}

impl KaldiObject for IvectorExtractor {
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<Self> {
        r.expect_token("<IvectorExtractor>")?;
        r.expect_token("<w>")?;
        let regression = DenseMatrix::<f64>::read(r)?;
        r.expect_token("<w_vec>")?;
        let fixed = read_vector::<f64>(r)?;
        let weights = match (regression.rows, fixed.len()) {
            (0, _) => Weights::Fixed(fixed),
            (_, 0) => Weights::Regression(regression),
            _ => return Err(r.error("<w_vec>: expected no weights, since <w> has some")),
        };
        r.expect_token("<M>")?;
        let count = r.read_i32().and_then(|n| r.check_count(n, "Gaussians"))?;
        let mut projections = Vec::new();
        for _ in 0..count {
            projections.push(DenseMatrix::read(r)?);
        }
        r.expect_token("<SigmaInv>")?;
        let mut inverse_covariances = Vec::new();
        for _ in 0..count {
            inverse_covariances.push(SymmetricMatrix::read(r)?);
        }
        r.expect_token("<IvectorOffset>")?;
        let prior_offset = r.read_f64()?;
        r.expect_token("</IvectorExtractor>")?;
        let extractor = IvectorExtractor { weights, projections, inverse_covariances, prior_offset };
        extractor.problem().map_or(Ok(extractor), |problem| Err(r.error(problem)))
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        let none = DenseMatrix::default();
        let (regression, fixed) = match &self.weights {
            Weights::Fixed(weights) => (&none, &weights[..]),
            Weights::Regression(weights) => (weights, &[][..]),
        };
        w.write_token("<IvectorExtractor>")?;
        w.write_token("<w>")?;
        regression.write(w)?;
        w.write_token("<w_vec>")?;
        write_vector(w, fixed)?;
        w.write_token("<M>")?;
        w.write_i32(w.count(self.projections.len())?)?;
        self.projections.iter().try_for_each(|m| m.write(w))?;
        w.write_token("<SigmaInv>")?;
        self.inverse_covariances.iter().try_for_each(|s| s.write(w))?;
        w.write_token("<IvectorOffset>")?;
        w.write_f64(self.prior_offset)?;
        w.write_token("</IvectorExtractor>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random;
    use kaldi_io::testing::{from_text, in_both_forms};

    #[test]
    fn files() {
        let extractor = random(3, 2, 4, 1);
        let (text, binary) = in_both_forms(&extractor);
        assert!(binary.starts_with(b"<IvectorExtractor> <w> DM \x04\0\0\0\0\x04\0\0\0\0<w_vec> DV "));
        let refused = |old: &str, new: &str, words: &str| {
            assert!(text.contains(old), "{old}");
            let error = from_text::<IvectorExtractor>(&text.replacen(old, new, 1)).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        refused("<w>  [ ]", "<w> [ 1 2 ]", "expected no weights");
        refused(
            "<w>  [ ]\n<w_vec>  [ 0.5 0.25 0.25 ]",
            "<w>  [ 1 2 ]\n<w_vec>  [ ]",
            "<w> is 1×2, expected 3×4",
        );
        refused("[ 0.5 0.25 0.25 ]", "[ 0.5 0.5 ]", "2 weights");
        refused("[ 0.5 0.25 0.25 ]", "[ 0.5 inf 0.5 ]", "inf in an i-vector extractor");
        refused("<M> 3", "<M> 0", "expected token '<SigmaInv>'");
        refused("<M> 3", "<M> -1", "invalid number of Gaussians: -1");
        refused("<IvectorOffset> 12.5", "<IvectorOffset> 0", "0 is not a possible offset");
        for end in 0..text.len() - 2 {
            assert!(from_text::<IvectorExtractor>(&text[..end]).is_err(), "{end}");
        }
        let written = |extractor: &IvectorExtractor| {
            let mut w = KaldiWriter::in_memory(false);
            extractor.write(&mut w).unwrap();
            from_text::<IvectorExtractor>(&String::from_utf8(w.into_bytes()).unwrap())
                .unwrap_err()
                .to_string()
        };
        let mut other = extractor.clone();
        other.projections[1] = DenseMatrix::new(2, 3);
        assert!(written(&other).contains("projection 1 is 2×3, projection 0 2×4"));
        let mut other = extractor.clone();
        other.inverse_covariances[2] = SymmetricMatrix::new(3);
        assert!(written(&other).contains("inverse covariance 2 has dimension 3, expected 2"));
        let mut other = extractor;
        other.weights = Weights::Regression(DenseMatrix { rows: 3, cols: 4, data: vec![0.25; 12] });
        let (text, _) = in_both_forms(&other);
        assert!(text.contains("<w_vec>  [ ]\n<M> 3  ["), "{text}");
    }
}
