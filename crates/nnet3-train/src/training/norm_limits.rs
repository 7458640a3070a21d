//! Limits on the norms of changes: their factors, computed on any device, and recomputed for the log.

use nnet3_matrix::backend::{Constant, Decision};
use nnet3_matrix::{Accumulator, Device, SumRange, ViewMut};

/// Sets `factors` for n changes with the squared norms sums\[first …\]. `factors` is 1 × (n + 1): the factor of each
/// change, `scale` included, then 1. If the norms are not finite, all are 0. The sign of `scale` does not count for
/// norms. `limits` are n + 1 numbers, as for [`norm_factors`].
pub fn limit_norms(
    device: &Device,
    factors: ViewMut<'_>,
    sums: &mut Accumulator,
    first: usize,
    limits: &mut Accumulator,
    scale: f64,
) {
    let count = limits.len() - 1;
    assert_eq!(factors.cols(), count + 1, "a factor for each limit");
    let squares = SumRange { sums, first, count };
    device.decide(factors, &mut [squares, SumRange::all(limits)], &LimitNorms { count, scale });
}

/// The rule of [`limit_norms`], for `n` changes.
struct LimitNorms {
    count: usize,
    scale: f64,
}

impl Decision for LimitNorms {
    fn on_host(&self, results: &mut [f32], sums: &mut [SumRange<'_>]) {
        let [squares, limits] = sums else { unreachable!("squares and limits") };
        let (squares, limits, scale) = (squares.values(), limits.values(), self.scale);
        let (all, finite) = factor_of_all(squares, limits, scale.abs());
        results[self.count] = if finite { 1.0 } else { 0.0 };
        for (out, factor) in results.iter_mut().zip(factors_of_each(squares, limits, scale.abs())) {
            *out = if finite { (factor * all * scale) as f32 } else { 0.0 };
        }
    }

    fn kernel(&self) -> (&'static str, Vec<Constant>) {
        ("limit_norms", vec![Constant::Int(self.count as i32), Constant::Double(self.scale)])
    }
}

/// The factor of each of several changes, and then the common factor.
#[derive(Clone, Debug, PartialEq)]
pub struct NormFactors {
    /// The factor of each change, at most 1.
    pub each: Vec<f64>,
    /// The factor of all changes together, at most 1.
    pub all: f64,
    /// False if the changes are not finite; they must then not be made.
    pub finite: bool,
}

/// Factors for changes with these squared norms, each to be multiplied by a number of the absolute value `scale` besides.
/// `limits` has one for the norm of each of them, and last one for the norm of all together after that; 0 is no limit.
pub fn norm_factors(squares: &[f64], limits: &[f64], scale: f64) -> NormFactors {
    let (all, finite) = factor_of_all(squares, limits, scale);
    NormFactors { each: factors_of_each(squares, limits, scale).collect(), all, finite }
}

/// [`NormFactors::each`].
fn factors_of_each<'s>(squares: &'s [f64], limits: &'s [f64], scale: f64) -> impl Iterator<Item = f64> + 's {
    squares.iter().zip(limits).map(move |(square, &limit)| limited(square.sqrt() * scale, limit))
}

/// [`NormFactors::all`] and [`NormFactors::finite`].
fn factor_of_all(squares: &[f64], limits: &[f64], scale: f64) -> (f64, bool) {
    assert_eq!(squares.len() + 1, limits.len(), "limits for squares and their sum");
    let each = factors_of_each(squares, limits, scale);
    let total = each.zip(squares).fold(0.0, |sum, (factor, square)| sum + factor * factor * square);
    let norm = f64::sqrt(total) * scale;
    // With infinite changes a factor is 0, and 0 · ∞ is not a number.
    (limited(norm, limits[squares.len()]), norm.is_finite())
}

fn limited(norm: f64, limit: f64) -> f64 {
    if limit != 0.0 && norm > limit { limit / norm } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_and_then_all() {
        // Norms 6 and 8 after scaling; the first may be 3, then all have 8.544, which may be 4.
        let factors = norm_factors(&[9.0, 16.0], &[3.0, 0.0, 4.0], 2.0);
        assert_eq!((factors.each, factors.finite), (vec![0.5, 1.0], true));
        assert!((factors.all - 4.0 / 73f64.sqrt()).abs() < 1e-15);
        assert_eq!(norm_factors(&[4.0], &[2.0, 0.0], 1.0).each, [1.0]);
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(!norm_factors(&[1.0, bad], &[1.0, 1.0, 1.0], 1.0).finite);
        }
    }
}
