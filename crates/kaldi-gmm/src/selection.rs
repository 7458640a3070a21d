//! Choices among the Gaussians of a frame by their log-likelihoods (`GaussianSelection` of `gmm/diag-gmm.cc`,
//! `VectorToPosteriorEntry` of `hmm/posterior.cc`).

use std::cmp::Ordering;

use kaldi_numerics::log_sums::{LEAST_TERM, largest, log_sum_pruned};
use kaldi_numerics::soft_max;

use crate::error::{Error, Result};

/// Sorts by decreasing value, and equal ones by decreasing index.
fn best_first(a: &(usize, f32), b: &(usize, f32)) -> Ordering {
    b.1.total_cmp(&a.1).then(b.0.cmp(&a.0))
}

/// Returns the `count` best of (Gaussian, log-likelihood) pairs, the best first and the larger index first among equals,
/// and ln Σ exp of their log-likelihoods. An error if that is not a finite number.
pub fn best(mut pairs: Vec<(usize, f32)>, count: usize) -> Result<(Vec<usize>, f32)> {
    if count < pairs.len() && count > 0 {
        pairs.select_nth_unstable_by(count - 1, best_first);
    }
    pairs.truncate(count);
    pairs.sort_unstable_by(best_first);
    let likelihoods: Vec<f32> = pairs.iter().map(|pair| pair.1).collect();
    let total = log_sum(&likelihoods)?;
    Ok((pairs.into_iter().map(|pair| pair.0).collect(), total))
}

/// Returns the posteriors of at most `most` Gaussians, the largest first and 1 in sum, and the log-likelihood of these
/// Gaussians. `least` is between 0 and 1. Gaussians below `least` times the best are left out, then the smallest ones below
/// `least` times the sum. An error if a log-likelihood is not a number or all are infinite.
pub fn posterior_entry(likelihoods: &[f32], most: usize, least: f32) -> Result<(Vec<(usize, f32)>, f32)> {
    let max = maximum(likelihoods)?;
    let above = |cutoff: f32| -> Vec<(usize, f32)> {
        let above = likelihoods.iter().enumerate().filter(|(_, like)| **like > cutoff);
        above.map(|(g, like)| (g, (like - max).exp())).collect()
    };
    let mut posteriors = above(max + least.ln());
    if posteriors.is_empty() {
        // The limit is lost in the rounding of the likelihoods.
        posteriors = above(f32::NEG_INFINITY);
    }
    let larger = |a: &(usize, f32), b: &(usize, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if most < posteriors.len() && most > 0 {
        posteriors.select_nth_unstable_by(most - 1, larger);
    }
    posteriors.truncate(most);
    posteriors.sort_unstable_by(larger);
    let mut total: f32 = posteriors.iter().map(|(_, posterior)| posterior).sum();
    let cutoff = least * total;
    while let [_, .., (_, last)] = posteriors[..]
        && last < cutoff
    {
        total -= last;
        posteriors.pop();
    }
    posteriors.iter_mut().for_each(|(_, posterior)| *posterior *= 1.0 / total);
    Ok((posteriors, max + total.ln()))
}

/// Replaces log-likelihoods by posteriors, 1 in sum, and returns ln Σ exp. An error if that is not a finite number.
pub fn softmax(likelihoods: &mut [f32]) -> Result<f32> {
    let max = maximum(likelihoods)?;
    Ok(soft_max::posteriors(likelihoods, max))
}

/// Sets posteriors below `least` to 0 and divides the others by their sum. If all are below, the first of the largest becomes 1.
pub fn prune(posteriors: &mut [f32], least: f32) {
    let mut largest = 0;
    for (i, posterior) in posteriors.iter().enumerate() {
        if *posterior > posteriors[largest] {
            largest = i;
        }
    }
    posteriors.iter_mut().filter(|posterior| **posterior < least).for_each(|posterior| *posterior = 0.0);
    let sum: f32 = posteriors.iter().sum();
    if sum == 0.0 {
        posteriors.iter_mut().skip(largest).take(1).for_each(|posterior| *posterior = 1.0);
    } else {
        posteriors.iter_mut().for_each(|posterior| *posterior *= 1.0 / sum);
    }
}

/// Returns ln Σ exp of log-likelihoods. An error if that is not a finite number.
pub fn log_sum(likelihoods: &[f32]) -> Result<f32> {
    finite(log_sum_pruned(likelihoods, LEAST_TERM))
}

/// The largest log-likelihood. An error if it is infinite or one is not a number.
fn maximum(likelihoods: &[f32]) -> Result<f32> {
    match likelihoods.iter().any(|x| x.is_nan()) {
        true => finite(f32::NAN),
        false => finite(largest(likelihoods)),
    }
}

pub(crate) fn finite(log_likelihood: f32) -> Result<f32> {
    if log_likelihood.is_finite() {
        return Ok(log_likelihood);
    }
    Err(Error::data(format!(
        "log-likelihood {log_likelihood}: Invalid answer (overflow, or infinite or undefined features or variances?)"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_are_sorted() {
        let pairs = |values: &[f32]| values.iter().copied().enumerate().collect::<Vec<_>>();
        let values = [0.5, 2.0, -1.0, 2.0, 1.0];
        let (order, total) = best(pairs(&values), 3).unwrap();
        assert_eq!(order, [3, 1, 4]);
        assert!((f64::from(total) - (2.0 * 2f64.exp() + 1f64.exp()).ln()).abs() < 1e-6);
        assert_eq!(best(pairs(&values), 9).unwrap().0, [3, 1, 4, 0, 2]);
        // Members of a list.
        assert_eq!(best(vec![(7, -3.0), (2, -1.0), (9, -2.0)], 2).unwrap().0, [2, 9]);
        for wrong in [&[][..], &[f32::NAN], &[f32::NEG_INFINITY], &[f32::INFINITY]] {
            let error = best(pairs(wrong), 1).unwrap_err().to_string();
            assert!(error.contains("Invalid answer"), "{error}");
        }
    }

    /// Likelihoods in the ratio 8 : 4 : 2 : 1.
    fn ratios() -> Vec<f32> {
        [1.0f32, 8.0, 2.0, 4.0].iter().map(|x| x.ln() - 80.0).collect()
    }

    #[track_caller]
    fn near(found: &[(usize, f32)], expected: &[(usize, f32)]) {
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (a, b) in found.iter().zip(expected) {
            assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-5, "{found:?} {expected:?}");
        }
    }

    #[test]
    fn entries() {
        let check = |most, least, expected: &[(usize, f32)], sum: f32| {
            let (found, value) = posterior_entry(&ratios(), most, least).unwrap();
            near(&found, expected);
            assert!((value - (sum.ln() - 80.0)).abs() < 1e-4, "{value}");
        };
        check(4, 0.0, &[(1, 8.0 / 15.0), (3, 4.0 / 15.0), (2, 2.0 / 15.0), (0, 1.0 / 15.0)], 15.0);
        check(2, 0.0, &[(1, 8.0 / 12.0), (3, 4.0 / 12.0)], 12.0);
        // 2 and 1 are below 0.3 of the best.
        check(4, 0.3, &[(1, 8.0 / 12.0), (3, 4.0 / 12.0)], 12.0);
        // 2 is above 0.2 of the best, 1.6, but below 0.2 of the sum 14; then 4 is above.
        check(4, 0.2, &[(1, 8.0 / 12.0), (3, 4.0 / 12.0)], 12.0);
        check(4, 0.99, &[(1, 1.0)], 8.0);
        assert!(posterior_entry(&[0.0, f32::NAN], 2, 0.1).is_err());
        assert!(posterior_entry(&[f32::NEG_INFINITY], 2, 0.1).is_err());
    }

    #[test]
    fn posteriors_of_lists() {
        let mut values = ratios();
        assert!((softmax(&mut values).unwrap() - (15f32.ln() - 80.0)).abs() < 1e-4);
        let with_index = |values: &[f32]| values.iter().copied().enumerate().collect::<Vec<_>>();
        near(&with_index(&values), &[(0, 1.0 / 15.0), (1, 8.0 / 15.0), (2, 2.0 / 15.0), (3, 4.0 / 15.0)]);
        let mut pruned = values.clone();
        prune(&mut pruned, 0.2);
        near(&with_index(&pruned), &[(0, 0.0), (1, 8.0 / 12.0), (2, 0.0), (3, 4.0 / 12.0)]);
        prune(&mut values, 0.9);
        assert_eq!(values, [0.0, 1.0, 0.0, 0.0]);
        assert!(softmax(&mut [f32::NAN, 0.0]).is_err());
    }
}
