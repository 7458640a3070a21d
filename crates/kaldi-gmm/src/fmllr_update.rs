//! Transforms that maximise the objective function of fMLLR statistics.

use kaldi_numerics::inverse::finite_inverse;
use nalgebra::{DMatrix, DVector, RowDVector};

use crate::error::{Error, Result};
use crate::fmllr::{FmllrStats, unit};
use crate::mllt::{replace_row, row_major};
use kaldi_io::DenseMatrix;

/// The form of a transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FmllrKind {
    /// Any matrix and an offset.
    Full,
    /// A factor and an offset for each dimension.
    Diagonal,
    /// An offset.
    Offset,
    /// The identity transform.
    None,
}

impl FmllrKind {
    /// Reads `full`, `diag`, `offset` or `none`.
    pub fn parse(name: &str) -> Result<FmllrKind> {
        match name {
            "full" => Ok(FmllrKind::Full),
            "diag" => Ok(FmllrKind::Diagonal),
            "offset" => Ok(FmllrKind::Offset),
            "none" => Ok(FmllrKind::None),
            _ => Err(Error::options(format!(
                "Unknown fMLLR update type {name}, fmllr-update-type must be one of \"full\"|\"diag\"|\"offset\"|\"none\""
            ))),
        }
    }
}

/// Options of the estimation of a transform.
#[derive(Debug, Clone, PartialEq)]
pub struct FmllrOptions {
    pub kind: FmllrKind,
    /// If the count of the statistics is at most this number, the transform is the identity.
    pub min_count: f64,
    /// Updates of all rows of a full transform.
    pub iterations: usize,
}

/// A transform, and how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct FmllrEstimate {
    /// D×(D+1); the last column is the offset.
    pub transform: DenseMatrix<f32>,
    /// Growth of the objective function; 0 without an estimate.
    pub improvement: f64,
    pub outcome: Outcome,
}

/// Result of the estimation of a transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A transform that increases the objective function.
    Estimated,
    /// The count is too small: the result is the identity transform.
    TooFew,
    /// The objective function did not increase. A full transform then becomes the identity.
    NoGain,
}

impl FmllrStats {
    /// Estimates a transform, after the last frame has been committed. Fails if the statistics are singular.
    pub fn estimate(&mut self, options: &FmllrOptions) -> Result<FmllrEstimate> {
        self.commit();
        let dim = self.dim();
        let nothing = |outcome| FmllrEstimate { transform: dense(&unit(dim)), improvement: 0.0, outcome };
        if self.count <= options.min_count {
            return Ok(nothing(Outcome::TooFew));
        }
        self.quadratic.flush();
        let transform = match options.kind {
            FmllrKind::None => return Ok(nothing(Outcome::Estimated)),
            FmllrKind::Full => self.full(options.iterations)?,
            FmllrKind::Diagonal => self.diagonal(),
            FmllrKind::Offset => self.offset(),
        };
        if transform.iter().any(|x| !x.is_finite()) {
            return Err(Error::data("the fMLLR transform is not finite: are the statistics singular?"));
        }
        let improvement = self.objective(&transform) - self.objective(&unit(dim));
        let gained = improvement >= 0.0;
        if !gained && options.kind == FmllrKind::Full {
            return Ok(nothing(Outcome::NoGain));
        }
        let outcome = if gained { Outcome::Estimated } else { Outcome::NoGain };
        Ok(FmllrEstimate { transform: dense(&transform), improvement, outcome })
    }

    /// Row after row, each with its best value while the others stay.
    fn full(&self, iterations: usize) -> Result<DMatrix<f64>> {
        let dim = self.dim();
        let mut inverses = Vec::new();
        for d in 0..dim {
            let inverse = finite_inverse(self.quadratic.get(d));
            inverses.push(inverse.ok_or_else(|| {
                Error::data(format!(
                    "the fMLLR statistics of dimension {d} are singular: are there enough data?"
                ))
            })?);
        }
        let mut transform = unit(dim);
        for _ in 0..iterations {
            let mut square = transform.columns(0, dim).into_owned();
            let singular = || Error::data("the fMLLR transform has become singular");
            let mut inverse = square.clone().try_inverse().ok_or_else(singular)?;
            for (d, inverse_d) in inverses.iter().enumerate() {
                let row = self.best_row(d, inverse_d, &inverse.column(d).into_owned());
                replace_row(&mut square, &mut inverse, d, &row.columns(0, dim).into_owned());
                transform.set_row(d, &row);
            }
        }
        Ok(transform)
    }

    /// The best row d, given the others: (α c + k_d) G_d⁻¹, with c the cofactors (row d of A⁻ᵀ, and 0).
    fn best_row(&self, d: usize, inverse: &DMatrix<f64>, cofactors: &DVector<f64>) -> RowDVector<f64> {
        let cofactors = cofactors.clone().push(0.0);
        let linear = self.linear.row(d).transpose();
        let solved = inverse * &cofactors;
        let (e1, e2) = (cofactors.dot(&solved), linear.dot(&solved));
        let root = (e2 * e2 + 4.0 * e1 * self.count).sqrt();
        let value = |alpha: f64| self.count * (alpha * e1 + e2).abs().ln() - 0.5 * alpha * alpha * e1;
        let (first, second) = ((-e2 + root) / (2.0 * e1), (-e2 - root) / (2.0 * e1));
        let alpha = if value(first) > value(second) { first } else { second };
        (inverse * (cofactors * alpha + linear)).transpose()
    }

    fn diagonal(&self) -> DMatrix<f64> {
        let dim = self.dim();
        let mut transform = unit(dim);
        for d in 0..dim {
            let matrix = self.quadratic.get(d);
            let (k_scale, k_offset) = (self.linear[(d, d)], self.linear[(d, dim)]);
            let (cross, last) = (matrix[(dim, d)], matrix[(dim, dim)]);
            let a = cross * cross / last - matrix[(d, d)];
            let b = k_scale - cross * k_offset / last;
            let scale = (-b - (b * b - 4.0 * a * self.count).sqrt()) / (2.0 * a);
            transform[(d, d)] = scale;
            transform[(d, dim)] = (k_offset - scale * cross) / last;
        }
        transform
    }

    fn offset(&self) -> DMatrix<f64> {
        let dim = self.dim();
        let mut transform = unit(dim);
        for d in 0..dim {
            let matrix = self.quadratic.get(d);
            transform[(d, dim)] = (self.linear[(d, dim)] - matrix[(d, dim)]) / matrix[(dim, dim)];
        }
        transform
    }
}

/// A transform in single precision.
pub(crate) fn dense(transform: &DMatrix<f64>) -> DenseMatrix<f32> {
    DenseMatrix { rows: transform.nrows(), cols: transform.ncols(), data: row_major(transform) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fmllr::tests::stats;

    fn run(kind: FmllrKind, min_count: f64) -> (FmllrStats, FmllrEstimate) {
        let mut stats = stats(300, 3).0;
        let estimate = stats.estimate(&FmllrOptions { kind, min_count, iterations: 40 }).unwrap();
        (stats, estimate)
    }

    fn double(transform: &DenseMatrix<f32>) -> DMatrix<f64> {
        DMatrix::from_row_iterator(3, 4, transform.data.iter().map(|&x| f64::from(x)))
    }

    /// No small change of a free element makes the objective function larger.
    #[test]
    fn estimates_are_maxima() {
        let mut gains = Vec::new();
        for kind in [FmllrKind::Offset, FmllrKind::Diagonal, FmllrKind::Full] {
            let (mut stats, estimate) = run(kind, 10.0);
            let transform = double(&estimate.transform);
            let best = stats.objective(&transform);
            let gain = best - stats.objective(&unit(3));
            assert!((gain - estimate.improvement).abs() < 1e-3 && gain > 0.0);
            assert_eq!(estimate.outcome, Outcome::Estimated);
            for (d, column) in (0..12).map(|at| (at / 4, at % 4)) {
                let free = match kind {
                    FmllrKind::Full => true,
                    FmllrKind::Diagonal => column == d || column == 3,
                    _ => column == 3,
                };
                for step in [-0.01, 0.01].into_iter().filter(|_| free) {
                    let mut other = transform.clone();
                    other[(d, column)] += step;
                    assert!(stats.objective(&other) < best, "{kind:?} {d} {column}");
                }
                assert!(free || transform[(d, column)] == f64::from(u8::from(d == column)));
            }
            gains.push(gain);
        }
        assert!(gains[0] < gains[1] && gains[1] < gains[2], "{gains:?}");
    }

    #[test]
    fn a_prior_alone_gives_the_identity_and_much_data_the_transform_of_maximum_likelihood() {
        let options = FmllrOptions { kind: FmllrKind::Full, min_count: 0.0, iterations: 40 };
        let (_, model, ..) = stats(1, 3);
        let with_prior = |frames: f64, mut stats: FmllrStats| {
            stats.add_prior(&model, &[1.0, 2.0, 1.0], frames).unwrap();
            double(&stats.estimate(&options).unwrap().transform)
        };
        assert!((with_prior(500.0, FmllrStats::new(3)) - unit(3)).amax() < 1e-5);
        let likeliest = double(&run(FmllrKind::Full, 0.0).1.transform);
        let far = (&likeliest - unit(3)).amax();
        assert!(far > 0.1, "{far}");
        assert_eq!(with_prior(0.0, stats(300, 3).0), likeliest);
        // 300 frames and 0.03 virtual ones: a ten-thousandth.
        assert!((with_prior(0.03, stats(300, 3).0) - &likeliest).amax() < 0.01 * far);
        let mut before = far;
        for frames in [30.0, 300.0, 3000.0, 300_000.0] {
            let distance = (with_prior(frames, stats(300, 3).0) - unit(3)).norm();
            assert!(distance < before || frames == 30.0, "{frames} frames: {distance} after {before}");
            before = distance;
        }
        assert!(before < 0.01 * far, "{before} of {far}");
    }

    #[test]
    fn transforms_that_change_nothing() {
        for (kind, min_count, outcome) in
            [(FmllrKind::None, 1.0, Outcome::Estimated), (FmllrKind::Full, 301.0, Outcome::TooFew)]
        {
            let (_, estimate) = run(kind, min_count);
            assert_eq!((double(&estimate.transform), estimate.improvement), (unit(3), 0.0));
            assert_eq!(estimate.outcome, outcome);
        }
        assert!(FmllrKind::parse("x").unwrap_err().to_string().contains("update type x"));
        let mut empty = FmllrStats::new(2);
        empty.count = 1000.0;
        let options = FmllrOptions { kind: FmllrKind::Full, min_count: 1.0, iterations: 2 };
        assert!(empty.estimate(&options).unwrap_err().to_string().contains("singular"));
    }
}
