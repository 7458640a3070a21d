//! Limits on the norms of changes: what [`crate::backend::Scalars::limit_norms`] computes on any device, and what a log says about it.

/// What each of several changes is multiplied by, and then all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct NormFactors {
    /// The factor of each change, at most 1.
    pub each: Vec<f64>,
    /// The factor of all changes together, at most 1.
    pub all: f64,
    /// Whether the changes are numbers; if not they are not to be made.
    pub finite: bool,
}

/// Factors for changes with these squared norms, each to be multiplied by a number of the absolute value `scale` besides.
/// `limits` has one for the norm of each of them, and last one for the norm of all together after that; 0 is no limit.
pub fn norm_factors(squares: &[f64], limits: &[f64], scale: f64) -> NormFactors {
    let (all, finite) = factor_of_all(squares, limits, scale);
    NormFactors { each: factors_of_each(squares, limits, scale).collect(), all, finite }
}

/// [`NormFactors::each`].
pub(crate) fn factors_of_each<'s>(
    squares: &'s [f64],
    limits: &'s [f64],
    scale: f64,
) -> impl Iterator<Item = f64> + 's {
    squares.iter().zip(limits).map(move |(square, &limit)| limited(square.sqrt() * scale, limit))
}

/// [`NormFactors::all`] and [`NormFactors::finite`].
pub(crate) fn factor_of_all(squares: &[f64], limits: &[f64], scale: f64) -> (f64, bool) {
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
