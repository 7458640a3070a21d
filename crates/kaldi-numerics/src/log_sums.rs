//! Logarithms of sums of exponentials.
//!
//! [`log_sum`] is in double precision. [`log_sum_pruned`] takes logarithms in single precision and leaves out small terms:
//! Gaussian models have so many that it counts, and the reference's likelihoods have its rounding. [`log_sum_of_scores`]
//! keeps all terms, as probabilities of words need.
//!
//! Costs of automata have sums of their own, with OpenFst's rounding: `kaldi-fst/src/ops/semiring.rs`, and
//! `nnet3-decode/src/decoder/log_sums.rs` for ranges of arcs.

/// Terms that are below the largest by more than this, −ln of the precision of `f32`, do not count in a sum of exponentials.
pub const LEAST_TERM: f32 = 15.942_385;

/// Returns ln(eᵃ + eᵇ). −∞ is the logarithm of 0; NaN stays NaN.
#[inline]
pub fn log_add(a: f64, b: f64) -> f64 {
    let (more, less) = if a > b { (a, b) } else { (b, a) };
    let infinite = less == f64::NEG_INFINITY || more == f64::INFINITY;
    if infinite { more } else { more + (less - more).exp().ln_1p() }
}

/// Returns ln Σ exp of values; −∞ if there are none, NaN if the largest is infinite or one is NaN.
#[inline]
pub fn log_sum(values: &[f64]) -> f64 {
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + values.iter().map(|x| (x - most).exp()).sum::<f64>().ln()
}

/// Returns ln Σ exp of values without those below the largest by more than `prune`. Terms are rounded to single
/// precision, their sum is in double precision.
#[inline]
pub fn log_sum_pruned(values: &[f32], prune: f32) -> f32 {
    let max = largest(values);
    let terms = values.iter().filter(|value| **value >= max - prune);
    let sum: f64 = terms.map(|value| f64::from((value - max).exp())).sum();
    (f64::from(max) + sum.ln()) as f32
}

/// Returns ln Σ exp of scores. Differences from the largest are rounded to single precision, all else is in double precision.
#[inline]
pub fn log_sum_of_scores(scores: &[f32]) -> f32 {
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = scores.iter().map(|&score| f64::from(score - largest).exp()).sum();
    (f64::from(largest) + sum.ln()) as f32
}

/// Returns the largest value; −∞ if there are none. NaN does not count.
#[inline]
pub fn largest(values: &[f32]) -> f32 {
    // Several maxima at a time: each comparison waits for the one before.
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let (eights, rest) = values.as_chunks::<8>();
    let mut lanes = [f32::NEG_INFINITY; 8];
    for eight in eights {
        lanes.iter_mut().zip(eight).for_each(|(lane, &value)| *lane = larger(*lane, value));
    }
    lanes.iter().chain(rest).fold(f32::NEG_INFINITY, |a, &b| larger(a, b))
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
        assert_eq!(log_sum(&[]), f64::NEG_INFINITY);
        assert!(log_sum(&[f64::NEG_INFINITY; 2]).is_nan() && log_sum(&[f64::NAN, 1.0]).is_nan());
    }

    #[test]
    fn pruned_sums() {
        let mut random = fastrand::Rng::with_seed(5);
        for count in [1, 7, 8, 9, 40] {
            let values: Vec<f32> = (0..count).map(|_| 20.0 * random.f32() - 300.0).collect();
            let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            assert_eq!(largest(&values), most);
            for prune in [LEAST_TERM, 3.0] {
                let kept = values.iter().filter(|x| **x >= most - prune).map(|&x| f64::from(x));
                let exact = kept.map(|x| (x + 300.0).exp()).sum::<f64>().ln() - 300.0;
                assert!((f64::from(log_sum_pruned(&values, prune)) - exact).abs() < 1e-4, "{count}");
            }
            let exact = values.iter().map(|&x| (f64::from(x) + 300.0).exp()).sum::<f64>().ln() - 300.0;
            assert!((f64::from(log_sum_of_scores(&values)) - exact).abs() < 1e-4, "{count}");
        }
        assert_eq!((largest(&[]), largest(&[f32::NAN, 1.0])), (f32::NEG_INFINITY, 1.0));
    }
}
