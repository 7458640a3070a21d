//! Probabilistic linear discriminant analysis: the model, its file, vectors in its space, scores.
//!
//! A vector is mean + speaker + rest. After the transform A, the covariance of the rest is the unit matrix, and the
//! covariance of speakers is diag(ψ), with ψ decreasing. File: `<Plda> ` DV mean, DM transform, DV psi, `</Plda> `, in
//! double precision.

use kaldi_io::{DenseMatrix, KaldiObject, KaldiReader, KaldiWriter, read_vector, write_vector};
use nalgebra::{DMatrix, DVector};

use crate::error::{Error, Result};
use crate::linear;

#[derive(Debug, Clone, PartialEq)]
pub struct Plda {
    pub(crate) mean: DVector<f64>,
    /// A.
    pub(crate) transform: DMatrix<f64>,
    pub(crate) psi: DVector<f64>,
}

/// The scaling of vectors in the model's space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    Unchanged,
    /// To the expected length: √(D / Σ y²/(ψ + 1/n)).
    Expected,
    /// To √D.
    Simple,
}

impl Length {
    /// Returns the scaling that the options --normalize-length and --simple-length-normalization mean.
    pub fn new(normalize: bool, simple: bool) -> Length {
        match (normalize, simple) {
            (false, _) => Length::Unchanged,
            (true, false) => Length::Expected,
            (true, true) => Length::Simple,
        }
    }
}

impl Plda {
    /// Returns the model with these covariances within and between speakers.
    ///
    /// # Errors
    /// If the covariance within speakers is not positive definite.
    pub(crate) fn from_covariances(
        mean: DVector<f64>,
        within: &DMatrix<f64>,
        between: &DMatrix<f64>,
    ) -> Result<Plda> {
        let what = "within-speaker covariance";
        let lower = linear::cholesky(within, what)?.l();
        let singular = || Error::data(format!("the {what} is singular"));
        let half = lower.solve_lower_triangular(between).ok_or_else(singular)?;
        let projected = lower.solve_lower_triangular(&half.transpose()).ok_or_else(singular)?;
        let (mut psi, rows) = linear::eigen(&projected, "between-speaker covariance")?;
        psi.iter_mut().for_each(|x| *x = x.max(0.0));
        let transform = lower.tr_solve_lower_triangular(&rows.transpose()).ok_or_else(singular)?.transpose();
        Ok(Plda { mean, transform, psi })
    }

    pub fn dim(&self) -> usize {
        self.mean.len()
    }

    pub fn mean(&self) -> &[f64] {
        self.mean.as_slice()
    }

    pub fn psi(&self) -> &[f64] {
        self.psi.as_slice()
    }

    /// Adds `smoothing` · ψ to the covariance within speakers.
    pub fn smooth(&mut self, smoothing: f64) {
        for i in 0..self.dim() {
            let within = 1.0 + smoothing * self.psi[i];
            self.psi[i] /= within;
            self.transform.row_mut(i).scale_mut(1.0 / within.sqrt());
        }
    }

    /// Returns y = A(x − mean) times a factor, rounded to single precision, and the factor. `length` determines the
    /// factor. x is the mean of n = `examples` vectors.
    ///
    /// # Errors
    /// If x has another dimension, or if an element is not finite.
    pub fn project(&self, x: &[f32], examples: usize, length: Length) -> Result<(Vec<f32>, f64)> {
        let (expected, found) = (self.dim(), x.len());
        if expected != found {
            return Err(Error::data(format!("dimension {found}, the PLDA model has {expected}")));
        }
        crate::vectors::check(x)?;
        let y = &self.transform * (linear::column(x) - &self.mean);
        let rest = 1.0 / examples as f64;
        let squares: f64 = match length {
            Length::Unchanged => expected as f64,
            Length::Expected => y.iter().zip(&self.psi).map(|(y, psi)| y * y / (psi + rest)).sum(),
            Length::Simple => y.norm_squared(),
        };
        if squares <= 0.0 {
            return Err(Error::data(
                "the vector equals the model's mean, so its length cannot be normalised",
            ));
        }
        let factor = (expected as f64 / squares).sqrt();
        Ok((y.iter().map(|y| (y * factor) as f32).collect(), factor))
    }

    /// Prepares scores against means of `examples` vectors.
    pub fn scorer(&self, examples: usize) -> Scorer {
        let n = examples as f64;
        let mut scorer = Scorer { gain: Vec::new(), same: Vec::new(), other: Vec::new(), constant: 0.0 };
        for &psi in &self.psi {
            let variance = 1.0 + psi / (n * psi + 1.0);
            scorer.gain.push(n * psi / (n * psi + 1.0));
            scorer.same.push(1.0 / variance);
            scorer.other.push(1.0 / (1.0 + psi));
            scorer.constant += 0.5 * ((1.0 + psi).ln() - variance.ln());
        }
        scorer
    }
}

/// Log likelihood ratios: the hypothesis that test vector z is of the same speaker as the enrolled mean y of n vectors,
/// against any other speaker.
///
/// −½ Σ [ln v + (z − g y)²/v] + ½ Σ [ln(1 + ψ) + z²/(1 + ψ)] with g = nψ/(nψ + 1), v = 1 + ψ/(nψ + 1).
#[derive(Debug, Clone, PartialEq)]
pub struct Scorer {
    gain: Vec<f64>,
    /// 1/v.
    same: Vec<f64>,
    /// 1/(1 + ψ).
    other: Vec<f64>,
    constant: f64,
}

impl Scorer {
    /// Returns the score of a test vector; both are in the model's space.
    pub fn score(&self, enrolled: &[f32], test: &[f32]) -> f64 {
        let mut sum = 0.0;
        for (d, (&y, &z)) in enrolled.iter().zip(test).enumerate() {
            let (y, z) = (f64::from(y), f64::from(z));
            let difference = z - self.gain[d] * y;
            sum += z * z * self.other[d] - difference * difference * self.same[d];
        }
        self.constant + 0.5 * sum
    }

    /// Returns the scores of all pairs of vectors: row = enrolled, column = test.
    pub fn all_pairs(&self, vectors: &[Vec<f32>]) -> Result<DenseMatrix<f32>> {
        // z²(1/(1+ψ) − 1/v)/2 depends on the column, g² y²/2v on the row, and the rest is a product: g y z/v.
        let test = linear::columns(vectors)?;
        let mut enrolled = test.clone();
        let count = vectors.len();
        let (mut of_row, mut of_column) = (vec![self.constant; count], vec![0.0; count]);
        for i in 0..count {
            for d in 0..self.gain.len() {
                let x = test[(d, i)];
                of_column[i] += 0.5 * x * x * (self.other[d] - self.same[d]);
                of_row[i] -= 0.5 * (self.gain[d] * x).powi(2) * self.same[d];
                enrolled[(d, i)] = self.gain[d] * self.same[d] * x;
            }
        }
        let products = enrolled.tr_mul(&test);
        let mut scores = DenseMatrix::new(count, count);
        for i in 0..count {
            for (j, score) in scores.row_mut(i).iter_mut().enumerate() {
                *score = (of_row[i] + of_column[j] + products[(i, j)]) as f32;
            }
        }
        Ok(scores)
    }
}

impl KaldiObject for Plda {
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<Self> {
        r.expect_token("<Plda>")?;
        let mean: Vec<f64> = read_vector(r)?;
        let transform = DenseMatrix::<f64>::read(r)?;
        let psi: Vec<f64> = read_vector(r)?;
        r.expect_token("</Plda>")?;
        let (dim, rows, cols, variances) = (mean.len(), transform.rows, transform.cols, psi.len());
        if dim == 0 || [rows, cols, variances] != [dim; 3] {
            return Err(r.error(format!(
                "a PLDA model of dimension {dim} has a transform of {rows}×{cols} and {variances} variances"
            )));
        }
        if mean.iter().chain(&transform.data).chain(&psi).any(|x| !x.is_finite()) {
            return Err(r.error("the PLDA model has elements that are not finite"));
        }
        if let Some(wrong) = psi.iter().find(|x| **x < 0.0) {
            return Err(r.error(format!("the PLDA model has the negative variance {wrong}")));
        }
        Ok(Plda {
            mean: DVector::from_vec(mean),
            transform: DMatrix::from_row_slice(rows, cols, &transform.data),
            psi: DVector::from_vec(psi),
        })
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        w.write_token("<Plda>")?;
        write_vector(w, self.mean())?;
        let dim = self.dim();
        let rows = self.transform.transpose();
        DenseMatrix { rows: dim, cols: dim, data: rows.as_slice().to_vec() }.write(w)?;
        write_vector(w, self.psi())?;
        w.write_token("</Plda>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plda_estimate::{estimate, tests::sample};

    fn model() -> Plda {
        estimate(&sample(9, 12), 5).unwrap().model
    }

    /// ln of a normal density with a full covariance.
    fn log_density(x: &DVector<f64>, covariance: &DMatrix<f64>) -> f64 {
        let inverse = covariance.clone().try_inverse().unwrap();
        -0.5 * (covariance.determinant().ln() + (x.transpose() * inverse * x)[0])
            - 0.5 * x.len() as f64 * std::f64::consts::TAU.ln()
    }

    #[test]
    fn scores_are_ratios_of_joint_densities() {
        // The mean of n vectors and a test vector are jointly normal; the score is a ratio of densities by definition.
        let model = model();
        for n in [1usize, 3] {
            let scorer = model.scorer(n);
            let (y, _) = model.project(&[0.3, -1.0, 2.0], n, Length::Unchanged).unwrap();
            let (z, _) = model.project(&[0.9, 0.1, 1.5], 1, Length::Unchanged).unwrap();
            let mut expected = 0.0;
            for d in 0..3 {
                let psi = model.psi[d];
                let first = psi + 1.0 / n as f64;
                let joint = DMatrix::from_row_slice(2, 2, &[first, psi, psi, psi + 1.0]);
                let both = DVector::from_vec(vec![f64::from(y[d]), f64::from(z[d])]);
                let alone = |x: f32, variance: f64| {
                    log_density(&DVector::from_vec(vec![x.into()]), &DMatrix::from_element(1, 1, variance))
                };
                expected += log_density(&both, &joint) - alone(y[d], first) - alone(z[d], psi + 1.0);
            }
            assert!((scorer.score(&y, &z) - expected).abs() < 1e-9 * expected.abs().max(1.0));
            let pairs = scorer.all_pairs(&[y.clone(), z.clone()]).unwrap();
            for (i, a) in [&y, &z].into_iter().enumerate() {
                for (j, b) in [&y, &z].into_iter().enumerate() {
                    let score = scorer.score(a, b);
                    assert!((f64::from(pairs.row(i)[j]) - score).abs() < 1e-5 * score.abs().max(1.0));
                }
            }
        }
    }

    #[test]
    fn lengths_are_normalised() {
        let model = model();
        let x = [0.3f32, -1.0, 2.0];
        let square = |y: &[f32]| y.iter().map(|y| y * y).sum::<f32>();
        let (y, factor) = model.project(&x, 2, Length::Simple).unwrap();
        assert!((square(&y) - 3.0).abs() < 1e-5);
        let (raw, one) = model.project(&x, 2, Length::Unchanged).unwrap();
        assert_eq!(one, 1.0);
        assert!((f64::from(raw[0]) * factor - f64::from(y[0])).abs() < 1e-5);
        let (y, _) = model.project(&x, 2, Length::Expected).unwrap();
        let expected: f64 = y.iter().zip(model.psi()).map(|(&y, psi)| f64::from(y * y) / (psi + 0.5)).sum();
        assert!((expected - 3.0).abs() < 1e-5);
        assert!(model.project(&[1.0], 1, Length::Simple).unwrap_err().to_string().contains("dimension 1"));
    }

    #[test]
    fn smoothing_adds_to_the_covariance_within_speakers() {
        let model = model();
        let mut smooth = model.clone();
        smooth.smooth(0.1);
        // In the old space, the covariances are 1 + 0.1 ψ and ψ; the new transform whitens the first.
        for d in 0..3 {
            let scale = smooth.transform[(d, 0)] / model.transform[(d, 0)];
            assert!((scale * scale * (1.0 + 0.1 * model.psi[d]) - 1.0).abs() < 1e-12);
            assert!((smooth.psi[d] - scale * scale * model.psi[d]).abs() < 1e-12);
        }
    }

    #[test]
    fn files_in_both_forms_and_wrong_ones() {
        let (text, _) = kaldi_io::testing::in_both_forms(&Plda {
            mean: DVector::from_vec(vec![1.0, 2.0]),
            transform: DMatrix::from_row_slice(2, 2, &[1.0, 0.5, 0.0, 2.0]),
            psi: DVector::from_vec(vec![3.0, 1.0]),
        });
        assert_eq!(text, "<Plda>  [ 1 2 ]\n [\n  1 0.5 \n  0 2 ]\n [ 3 1 ]\n</Plda> ");
        for (wrong, message) in [
            ("<Plda>  [ 1 2 ]\n [\n  1 0.5 ]\n [ 3 1 ]\n</Plda> ", "1×2"),
            ("<Plda>  [ 1 ]\n [\n  1 ]\n [ -3 ]\n</Plda> ", "negative variance -3"),
            ("<Plda>  [ nan ]\n [\n  1 ]\n [ 3 ]\n</Plda> ", "not finite"),
        ] {
            let error = kaldi_io::testing::from_text::<Plda>(wrong).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
