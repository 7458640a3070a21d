//! Logarithms of sums of exponentials.

/// Returns ln(eᵃ + eᵇ). −∞ is the logarithm of 0; NaN stays NaN.
#[inline]
pub fn log_add(a: f64, b: f64) -> f64 {
    let (more, less) = if a > b { (a, b) } else { (b, a) };
    let infinite = less == f64::NEG_INFINITY || more == f64::INFINITY;
    if infinite { more } else { more + (less - more).exp().ln_1p() }
}

/// Returns ln Σ exp of values; NaN if there is no finite one.
#[inline]
pub fn log_sum(values: &[f64]) -> f64 {
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + values.iter().map(|x| (x - most).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_two() {
        let infinity = f64::INFINITY;
        for (a, b) in [(3.0f64, 2.0f64), (-1.0, 4.0), (0.0, 0.0), (-30.0, -31.0)] {
            assert!((log_add(a, b) - (a.exp() + b.exp()).ln()).abs() < 1e-12, "{a} {b}");
            assert_eq!(log_add(a, b), log_add(b, a));
        }
        assert_eq!(log_add(-infinity, -infinity), -infinity);
        assert_eq!((log_add(-infinity, 2.0), log_add(2.0, -infinity)), (2.0, 2.0));
        assert_eq!((log_add(infinity, infinity), log_add(infinity, 1.0)), (infinity, infinity));
        assert!(log_add(f64::NAN, 1.0).is_nan() && log_add(1.0, f64::NAN).is_nan());
    }

    #[test]
    fn sums_of_many() {
        let values = [1.0f64, 4.0, 2.5].map(|x| x.ln() - 1_000.0);
        assert!((log_sum(&values) - (7.5f64.ln() - 1_000.0)).abs() < 1e-12);
        assert!(log_sum(&[]).is_nan());
    }
}
