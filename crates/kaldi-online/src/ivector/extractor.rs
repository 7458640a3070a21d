//! The model that says how an i-vector moves the means of Gaussians (`ivector/ivector-extractor.cc`, `final.ie`).

use std::num::NonZero;

use kaldi_io::threads;
use kaldi_io::{
    DenseMatrix, KaldiObject, KaldiReader, KaldiWriter, SymmetricMatrix, read_vector, write_vector,
};

/// The mean of Gaussian g is M_g x, where x is the i-vector; before there are data, x is normal with unit variance around
/// (`prior_offset`, 0, 0, …).
#[derive(Debug, Clone, PartialEq)]
pub struct IvectorExtractor {
    /// The weights of the Gaussians.
    pub weights: Vec<f64>,
    /// M_g: feature dimension × i-vector dimension, one for each Gaussian.
    pub projections: Vec<DenseMatrix<f64>>,
    /// The inverse covariance of each Gaussian.
    pub inverse_covariances: Vec<SymmetricMatrix<f64>>,
    pub prior_offset: f64,
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

    /// What is wrong with it, if something is.
    fn problem(&self) -> Option<String> {
        let (count, rows, cols) = (self.num_gauss(), self.feature_dim(), self.ivector_dim());
        if count == 0 || rows == 0 {
            return Some("an i-vector extractor needs Gaussians of at least one dimension".to_owned());
        }
        if self.weights.len() != count || self.inverse_covariances.len() != count {
            return Some(format!(
                "an i-vector extractor has {count} projections, {} weights and {} inverse covariances",
                self.weights.len(),
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
        let numbers = self.projections.iter().flat_map(|m| &m.data);
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
        if DenseMatrix::<f64>::read(r)?.rows > 0 {
            return Err(
                r.error("<w>: weights that depend on the i-vector cannot be used online; expected no rows")
            );
        }
        r.expect_token("<w_vec>")?;
        let weights = read_vector::<f64>(r)?;
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
        w.write_token("<IvectorExtractor>")?;
        w.write_token("<w>")?;
        DenseMatrix::<f64>::default().write(w)?;
        w.write_token("<w_vec>")?;
        write_vector(w, &self.weights)?;
        w.write_token("<M>")?;
        w.write_i32(self.projections.len() as i32)?;
        self.projections.iter().try_for_each(|m| m.write(w))?;
        w.write_token("<SigmaInv>")?;
        self.inverse_covariances.iter().try_for_each(|s| s.write(w))?;
        w.write_token("<IvectorOffset>")?;
        w.write_f64(self.prior_offset)?;
        w.write_token("</IvectorExtractor>")
    }
}

/// What estimation needs of an extractor, worked out for each Gaussian g.
#[derive(Debug)]
pub struct IvectorTerms {
    feature_dim: usize,
    ivector_dim: usize,
    prior_offset: f64,
    gaussians: Vec<GaussianTerms>,
}

/// The terms of one Gaussian, as M is its projection and Σ its covariance.
#[derive(Debug, Clone, Default)]
pub(crate) struct GaussianTerms {
    /// Σ⁻¹ M, row after row: feature dimension × i-vector dimension.
    pub linear: Vec<f64>,
    /// Mᵀ Σ⁻¹ M: the lower triangle, row after row.
    pub quadratic: Vec<f64>,
}

impl IvectorTerms {
    /// Works on so many threads.
    pub fn new(extractor: &IvectorExtractor, threads: NonZero<usize>) -> Self {
        let mut gaussians = vec![GaussianTerms::default(); extractor.num_gauss()];
        let share = gaussians.len().div_ceil(threads.get()).max(1);
        std::thread::scope(|scope| {
            for (part, terms) in gaussians.chunks_mut(share).enumerate() {
                let work = move |terms: &mut [GaussianTerms]| {
                    for (i, terms) in terms.iter_mut().enumerate() {
                        let g = part * share + i;
                        *terms =
                            GaussianTerms::new(&extractor.projections[g], &extractor.inverse_covariances[g]);
                    }
                };
                if share >= extractor.num_gauss() {
                    work(terms);
                } else if let Err(terms) = threads::start_in_or_return(scope, "Gaussians", terms, work) {
                    work(terms);
                }
            }
        });
        IvectorTerms {
            feature_dim: extractor.feature_dim(),
            ivector_dim: extractor.ivector_dim(),
            prior_offset: extractor.prior_offset,
            gaussians,
        }
    }

    pub fn num_gauss(&self) -> usize {
        self.gaussians.len()
    }
    pub fn feature_dim(&self) -> usize {
        self.feature_dim
    }
    pub fn ivector_dim(&self) -> usize {
        self.ivector_dim
    }

    /// The first element of an i-vector of which nothing is known; the others are 0.
    pub(crate) fn prior_offset(&self) -> f64 {
        self.prior_offset
    }

    pub(crate) fn gaussian(&self, g: usize) -> &GaussianTerms {
        &self.gaussians[g]
    }
}

impl GaussianTerms {
    fn new(m: &DenseMatrix<f64>, inverse: &SymmetricMatrix<f64>) -> Self {
        let (rows, cols) = (m.rows, m.cols);
        let mut linear = vec![0.0; rows * cols];
        for i in 0..rows {
            let out = &mut linear[i * cols..(i + 1) * cols];
            (0..rows).for_each(|k| add_scaled(out, m.row(k), inverse.get(i, k)));
        }
        let mut quadratic = vec![0.0; cols * (cols + 1) / 2];
        for k in 0..rows {
            let (left, mut rest) = (m.row(k), &mut quadratic[..]);
            for i in 0..cols {
                let (out, next) = rest.split_at_mut(i + 1);
                add_scaled(out, &linear[k * cols..=k * cols + i], left[i]);
                rest = next;
            }
        }
        GaussianTerms { linear, quadratic }
    }
}

/// Adds `factor` times a vector.
pub(crate) fn add_scaled(to: &mut [f64], from: &[f64], factor: f64) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use kaldi_io::testing::{from_text, in_both_forms};

    /// An extractor of multiples of 1/4.
    pub fn random(gaussians: usize, rows: usize, cols: usize, seed: u64) -> IvectorExtractor {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut number = || f64::from(random.i32(-6..=6)) / 4.0;
        let mut covariance = |_| {
            let mut s = SymmetricMatrix::<f64>::new(rows);
            // L Lᵀ + I is positive definite.
            let l: Vec<f64> = (0..rows * rows).map(|_| number()).collect();
            for i in 0..rows {
                for j in 0..=i {
                    let sum: f64 = (0..rows).map(|k| l[i * rows + k] * l[j * rows + k]).sum();
                    s.data[SymmetricMatrix::<f64>::offset(i, j)] = sum + f64::from(u8::from(i == j));
                }
            }
            s
        };
        let inverse_covariances = (0..gaussians).map(&mut covariance).collect();
        let matrix = |_| DenseMatrix { rows, cols, data: (0..rows * cols).map(|_| number()).collect() };
        IvectorExtractor {
            weights: vec![0.5; gaussians],
            projections: (0..gaussians).map(matrix).collect(),
            inverse_covariances,
            prior_offset: 12.5,
        }
    }

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
        refused("<w>  [ ]", "<w> [ 1 2 ]", "cannot be used online");
        refused("[ 0.5 0.5 0.5 ]", "[ 0.5 0.5 ]", "2 weights");
        refused("<M> 3", "<M> 0", "expected token '<SigmaInv>'");
        refused("<M> 3", "<M> -1", "-1 is not a possible number of Gaussians");
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
        let mut other = extractor;
        other.inverse_covariances[2] = SymmetricMatrix::new(3);
        assert!(written(&other).contains("inverse covariance 2 has dimension 3, expected 2"));
    }

    #[test]
    fn terms_are_products_and_do_not_depend_on_threads() {
        let (rows, cols) = (3, 5);
        let extractor = random(7, rows, cols, 2);
        for threads in [1, 3, 20] {
            let terms = IvectorTerms::new(&extractor, NonZero::new(threads).unwrap());
            assert_eq!((terms.num_gauss(), terms.feature_dim(), terms.ivector_dim()), (7, rows, cols));
            for g in 0..7 {
                let (m, s) = (&extractor.projections[g], &extractor.inverse_covariances[g]);
                let of = terms.gaussian(g);
                let linear = |k: usize, i: usize| (0..rows).map(|l| s.get(k, l) * m.row(l)[i]).sum::<f64>();
                for i in 0..cols {
                    (0..rows).for_each(|k| assert!((of.linear[k * cols + i] - linear(k, i)).abs() < 1e-9));
                    for j in 0..=i {
                        let expected: f64 = (0..rows).map(|k| m.row(k)[i] * linear(k, j)).sum();
                        assert!((of.quadratic[i * (i + 1) / 2 + j] - expected).abs() < 1e-9);
                    }
                }
            }
        }
    }
}
