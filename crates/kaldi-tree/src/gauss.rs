//! Statistics of vectors for Gaussians with diagonal covariance (`GaussClusterable` of `tree/clusterable-classes.cc`).

use crate::clusterable::Clusterable;
use kaldi_io::{DenseMatrix, IoError, KaldiObject, KaldiReader, KaldiWriter, Result};

const LOG_2PI: f64 = 1.837_877_066_409_345_4;
/// Number of dimensions computed at a time.
const LANES: usize = 8;

/// Sums of vectors and of their squares. Their objective function is the log-likelihood of the vectors under the
/// Gaussian with their mean and variance.
#[derive(Debug, Clone, PartialEq)]
pub struct Gauss {
    count: f64,
    /// Variances below this count as this.
    var_floor: f64,
    /// Row 0: sum; row 1: sum of squares.
    sums: DenseMatrix<f64>,
}

impl Gauss {
    pub fn new(dim: usize, var_floor: f32) -> Gauss {
        Gauss { count: 0.0, var_floor: var_floor.into(), sums: DenseMatrix::new(2, dim) }
    }

    pub fn dim(&self) -> usize {
        self.sums.cols
    }
    pub fn count(&self) -> f64 {
        self.count
    }
    /// The sum of all vectors.
    pub fn x(&self) -> &[f64] {
        self.sums.row(0)
    }
    /// The sum of the squares of all vectors, element by element.
    pub fn x2(&self) -> &[f64] {
        self.sums.row(1)
    }

    /// Adds one vector of [`Gauss::dim`] elements.
    pub fn add_frame(&mut self, frame: &[f32]) {
        let dim = self.dim();
        assert_eq!(frame.len(), dim, "as many elements as there are sums");
        self.count += 1.0;
        let (x, x2) = self.sums.data.split_at_mut(dim);
        for ((x, x2), &value) in x.iter_mut().zip(x2).zip(frame) {
            *x += f64::from(value);
            // The reference squares in single precision.
            *x2 += f64::from(value * value);
        }
    }

    /// The objective function of `self` + `sign` × `other`.
    fn objf_with(&self, other: &Gauss, sign: f64) -> f32 {
        let dim = self.dim();
        let (x, x2) = (&self.x()[..dim], &self.x2()[..dim]);
        let (other_x, other_x2) = (&other.x()[..dim], &other.x2()[..dim]);
        log_likelihood(self.count + sign * other.count, self.var_floor, dim, |d| {
            (x[d] + sign * other_x[d], x2[d] + sign * other_x2[d])
        })
    }
}

/// The log-likelihood of `count` vectors with these sums and sums of squares. As in the reference, the term for the
/// squared distances uses the original variances, divided by the floored ones.
#[inline(always)]
fn log_likelihood(count: f64, var_floor: f64, dim: usize, sums: impl Fn(usize) -> (f64, f64)) -> f32 {
    if count <= 0.0 {
        return 0.0;
    }
    let (mut distances, mut sum_of_logs, mut product) = (0.0, 0.0, 1.0);
    let mut vars = [0.0; LANES];
    let mut first = 0;
    while first < dim {
        let lanes = LANES.min(dim - first);
        let variance = |d| {
            let (x, x2) = sums(d);
            let mean: f64 = x / count;
            x2 / count - mean * mean
        };
        if lanes == LANES {
            for (lane, var) in vars.iter_mut().enumerate() {
                *var = variance(first + lane);
            }
        } else {
            for (lane, var) in vars[..lanes].iter_mut().enumerate() {
                *var = variance(first + lane);
            }
        }
        for &var in &vars[..lanes] {
            let floored = if var < var_floor { var_floor } else { var };
            // Without the floor, this is a half exactly.
            let is_half = floored == var && var.is_normal();
            distances += if is_half { -0.5 } else { -0.5 * var / floored };
            product *= floored;
            if !(1e-10..=1e10).contains(&product) {
                sum_of_logs += product.ln();
                product = 1.0;
            }
        }
        first += lanes;
    }
    if product != 1.0 {
        sum_of_logs += product.ln();
    }
    let per_frame = distances + -0.5 * (sum_of_logs + LOG_2PI * dim as f64);
    if per_frame.is_nan() { 0.0 } else { (per_frame * count) as f32 }
}

impl Clusterable for Gauss {
    fn objf(&self) -> f32 {
        let (x, x2) = (self.x(), self.x2());
        log_likelihood(self.count, self.var_floor, self.dim(), |d| (x[d], x2[d]))
    }
    fn normalizer(&self) -> f32 {
        self.count as f32
    }
    fn set_zero(&mut self) {
        self.count = 0.0;
        self.sums.data.fill(0.0);
    }
    fn add(&mut self, other: &Gauss) {
        self.count += other.count;
        self.sums.data.iter_mut().zip(&other.sums.data).for_each(|(to, from)| *to += from);
    }
    fn sub(&mut self, other: &Gauss) {
        self.count -= other.count;
        self.sums.data.iter_mut().zip(&other.sums.data).for_each(|(to, from)| *to -= from);
    }
    fn fits(&self, other: &Gauss) -> bool {
        self.dim() == other.dim()
    }
    fn objf_plus(&self, other: &Gauss) -> f32 {
        self.objf_with(other, 1.0)
    }
    fn objf_minus(&self, other: &Gauss) -> f32 {
        self.objf_with(other, -1.0)
    }
}

impl KaldiObject for Gauss {
    fn read(r: &mut KaldiReader) -> Result<Gauss> {
        r.expect_token("GCL")?;
        let (count, var_floor) = (r.read_f64()?, r.read_f64()?);
        let sums = DenseMatrix::<f64>::read(r)?;
        if sums.rows != 2 {
            return Err(r.error(format!("statistics have 2 rows, found {}", sums.rows)));
        }
        let refused = |what: IoError| Err(what);
        if !(count.is_finite() && count >= 0.0) {
            return refused(r.error(format!("invalid count {count}")));
        }
        if !(var_floor.is_finite() && var_floor >= 0.0) {
            return refused(r.error(format!("invalid variance floor {var_floor}")));
        }
        if let Some(value) = sums.data.iter().find(|value| !value.is_finite()) {
            return refused(r.error(format!("invalid sum {value}")));
        }
        Ok(Gauss { count, var_floor, sums })
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("GCL")?;
        w.write_f64(self.count)?;
        w.write_f64(self.var_floor)?;
        self.sums.write(w)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::in_both_forms;

    fn of(frames: &[[f32; 2]], floor: f32) -> Gauss {
        let mut stats = Gauss::new(2, floor);
        frames.iter().for_each(|frame| stats.add_frame(frame));
        stats
    }

    /// The sum of the logarithms of the densities, computed for each vector.
    #[test]
    fn likelihood_of_each_vector() {
        let frames = [[1.0, 2.0], [3.0, -1.0], [0.5, 0.0], [-2.0, 7.0]];
        for floor in [0.0, 8.0] {
            let mut expected = 0.0;
            for d in 0..2 {
                let mean = frames.iter().map(|f| f64::from(f[d])).sum::<f64>() / 4.0;
                let var = frames.iter().map(|f| (f64::from(f[d]) - mean).powi(2)).sum::<f64>() / 4.0;
                let var = var.max(f64::from(floor));
                for f in &frames {
                    expected -= 0.5 * ((f64::from(f[d]) - mean).powi(2) / var);
                    expected -= 0.5 * (2.0 * std::f64::consts::PI * var).ln();
                }
            }
            let objf = f64::from(of(&frames, floor).objf());
            assert!((objf - expected).abs() < 1e-5 * expected.abs(), "{objf} {expected}");
        }
    }

    #[test]
    fn sums_and_differences() {
        let (a, b) = (of(&[[1.0, 2.0], [3.0, -1.0]], 0.1), of(&[[0.5, 0.25], [-2.0, 7.0]], 0.1));
        let mut both = a.clone();
        both.add(&b);
        assert_eq!(both, of(&[[1.0, 2.0], [3.0, -1.0], [0.5, 0.25], [-2.0, 7.0]], 0.1));
        assert_eq!((a.objf_plus(&b), both.objf_minus(&b)), (both.objf(), a.objf()));
        both.sub(&b);
        assert_eq!(both, a);
        assert_eq!(Gauss::new(2, 0.1).objf(), 0.0);
        assert!(a.distance(a.objf(), &b, b.objf()) > 0.0);
        assert_eq!(a.distance(a.objf(), &Gauss::new(2, 0.1), 0.0), 0.0);
    }

    #[test]
    fn text_and_binary() {
        let (text, binary) = in_both_forms(&of(&[[1.0, 2.0], [3.0, -1.0]], 0.25));
        assert_eq!(text, "GCL 2 0.25  [\n  4 1 \n  10 5 ]\n");
        assert_eq!(&binary[..5], b"GCL \x08");
        assert_eq!(binary.len(), 4 + 9 + 9 + 3 + 5 + 5 + 32);
    }
}
