//! Statistics of the frames so far, and the i-vector of them (`OnlineIvectorEstimationStats` of
//! `ivector/ivector-extractor.cc`).

use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter, SymmetricMatrix, read_vector, write_vector};
use kaldi_numerics::conjugate_gradients::{Solution, conjugate_gradients};

use crate::terms::{IvectorTerms, add_scaled};

/// The log-likelihood of data as a function of the i-vector x: it is xᵀ·`linear` − ½ xᵀ·`quadratic`·x plus a constant,
/// with the prior in it, in `f64`.
#[derive(Debug, Clone, PartialEq)]
pub struct OnlineStats {
    prior_offset: f64,
    /// If this is not 0 and the count is larger, the prior is scaled up as if the count were no larger.
    max_count: f64,
    /// The sum of the posteriors.
    count: f64,
    quadratic: SymmetricMatrix<f64>,
    linear: Vec<f64>,
}

/// Posteriors of Gaussians at a frame, pruned and scaled; they may be negative where earlier ones are taken back.
pub type FramePosteriors = Vec<(usize, f32)>;

impl OnlineStats {
    /// No data, only the prior. Its offset is rounded to single precision, as in the reference.
    pub fn new(ivector_dim: usize, prior_offset: f64, max_count: f64) -> Self {
        let prior_offset = f64::from(prior_offset as f32);
        let (quadratic, linear) = (SymmetricMatrix::new(ivector_dim), vec![0.0; ivector_dim]);
        let mut stats = OnlineStats { prior_offset, max_count, count: 0.0, quadratic, linear };
        stats.add_prior(1.0);
        stats
    }

    pub fn ivector_dim(&self) -> usize {
        self.linear.len()
    }

    /// The sum of the posteriors: frames times the scale of the posteriors, if none has a weight.
    pub fn count(&self) -> f64 {
        self.count
    }

    fn add_prior(&mut self, factor: f64) {
        if let Some(first) = self.linear.first_mut() {
            *first += factor * self.prior_offset;
        }
        for i in 0..self.linear.len() {
            self.quadratic.data[SymmetricMatrix::<f64>::offset(i, i)] += factor;
        }
    }

    /// Returns the factor of the prior for this count.
    fn prior_scale(&self, count: f64) -> f64 {
        if self.max_count > 0.0 { count.max(self.max_count) / self.max_count } else { 1.0 }
    }

    /// Adds frames with their posteriors.
    ///
    /// # Panics
    /// If a posterior is of a Gaussian that `terms` do not have.
    pub fn accumulate(&mut self, terms: &IvectorTerms, frames: &[(&[f32], FramePosteriors)]) {
        let mut by_gaussian: Vec<(usize, f32, &[f32])> = Vec::new();
        for (frame, posteriors) in frames {
            by_gaussian.extend(posteriors.iter().map(|&(g, posterior)| (g, posterior, *frame)));
        }
        by_gaussian.sort_by_key(|&(g, ..)| g);
        let mut sum = vec![0.0; terms.feature_dim()];
        let mut added = 0.0;
        for same in by_gaussian.chunk_by(|a, b| a.0 == b.0) {
            sum.fill(0.0);
            let mut weight = 0.0f32;
            for &(_, posterior, frame) in same {
                weight += posterior;
                sum.iter_mut().zip(frame).for_each(|(sum, &x)| *sum += f64::from(posterior) * f64::from(x));
            }
            let g = same[0].0;
            for (row, &factor) in terms.linear(g..g + 1).chunks_exact(terms.ivector_dim()).zip(&sum) {
                add_scaled(&mut self.linear, row, factor);
            }
            add_scaled(&mut self.quadratic.data, terms.quadratic(g..g + 1), weight.into());
            added += f64::from(weight);
        }
        let count = self.count + added;
        let change = self.prior_scale(count) - self.prior_scale(self.count);
        if change != 0.0 {
            self.add_prior(change);
        }
        self.count = count;
    }

    /// Scales what is known of the data down by a factor between 0 and 1; the prior stays what the new count asks for.
    pub fn scale(&mut self, factor: f64) {
        let before = factor * self.prior_scale(self.count);
        self.count *= factor;
        self.quadratic.data.iter_mut().chain(&mut self.linear).for_each(|sum| *sum *= factor);
        self.add_prior(self.prior_scale(self.count) - before);
    }

    /// Moves an i-vector towards the most likely one by so many steps of conjugate gradients.
    pub fn estimate(&self, steps: usize, ivector: &mut [f64]) -> Solution {
        if self.count > 0.0 {
            if ivector[0] == 0.0 {
                ivector[0] = self.prior_offset;
            }
            return conjugate_gradients(&self.quadratic, &self.linear, steps, ivector);
        }
        ivector.fill(0.0);
        ivector[0] = self.prior_offset;
        Solution::Approximate
    }

    /// The log-likelihood of the data and the i-vector over that of the most likely one without data, divided by the count.
    pub fn improvement(&self, ivector: &[f64]) -> f64 {
        if self.count == 0.0 {
            return 0.0;
        }
        let mut rest = &self.quadratic.data[..];
        let mut value = 0.0;
        for (i, (x, b)) in ivector.iter().zip(&self.linear).enumerate() {
            let (row, next) = rest.split_at(i + 1);
            let below: f64 = row[..i].iter().zip(ivector).map(|(a, y)| a * y).sum();
            value += x * (b - below - 0.5 * row[i] * x);
            rest = next;
        }
        let offset = self.prior_offset;
        let without = offset * (self.linear[0] - 0.5 * self.quadratic.data[0] * offset);
        (value - without) / self.count
    }
}

impl KaldiObject for OnlineStats {
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<Self> {
        r.expect_token("<OnlineIvectorEstimationStats>")?;
        r.expect_token("<PriorOffset>")?;
        let prior_offset = r.read_f64()?;
        // Old files have no limit.
        let max_count = match r.read_token()?.as_str() {
            "<MaxCount>" => {
                let max_count = r.read_f64()?;
                r.expect_token("<NumFrames>")?;
                max_count
            }
            "<NumFrames>" => 0.0,
            other => return Err(r.error(format!("expected <MaxCount> or <NumFrames>, found '{other}'"))),
        };
        let count = r.read_f64()?;
        r.expect_token("<QuadraticTerm>")?;
        let quadratic = SymmetricMatrix::read(r)?;
        r.expect_token("<LinearTerm>")?;
        let linear = read_vector(r)?;
        r.expect_token("</OnlineIvectorEstimationStats>")?;
        if quadratic.dim != linear.len() || linear.is_empty() {
            return Err(r.error(format!(
                "the statistics of an i-vector have a quadratic term of dimension {}, a linear one of {}",
                quadratic.dim,
                linear.len()
            )));
        }
        let fields = [
            ("<PriorOffset>", &[prior_offset][..]),
            ("<MaxCount>", &[max_count]),
            ("<NumFrames>", &[count]),
            ("<QuadraticTerm>", &quadratic.data),
            ("<LinearTerm>", &linear),
        ];
        for (name, values) in fields {
            if let Some(value) = values.iter().find(|value| !value.is_finite()) {
                return Err(r.error(format!("{name}: invalid value {value}")));
            }
        }
        Ok(OnlineStats { prior_offset, max_count, count, quadratic, linear })
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        w.write_token("<OnlineIvectorEstimationStats>")?;
        w.write_token("<PriorOffset>")?;
        w.write_f64(self.prior_offset)?;
        w.write_token("<MaxCount>")?;
        w.write_f64(self.max_count)?;
        w.write_token("<NumFrames>")?;
        w.write_f64(self.count)?;
        w.write_token("<QuadraticTerm>")?;
        self.quadratic.write(w)?;
        w.write_token("<LinearTerm>")?;
        write_vector(w, &self.linear)?;
        w.write_token("</OnlineIvectorEstimationStats>")
    }
}
