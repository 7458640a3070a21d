//! Probabilities from their logarithms, up to a common factor.

use nalgebra::{DVector, RealField};

/// exp of numbers below this is 0 in single precision. (The library's function takes long to find that.)
const LEAST_EXPONENT: f32 = -104.0;

/// Replaces values x by exp x / Σ exp x. All become NaN if the largest is infinite or one is NaN.
#[inline]
pub fn soft_max<T: RealField + Copy>(values: &mut [T]) {
    let Some(&first) = values.first() else { return };
    let largest = values.iter().fold(first, |largest, &x| largest.max(x));
    let mut sum = T::zero();
    for x in values.iter_mut() {
        *x = (*x - largest).exp();
        sum += *x;
    }
    values.iter_mut().for_each(|x| *x /= sum);
}

/// Returns u − ln Σ exp u of a vector that is not empty.
pub fn log_soft_max(u: &DVector<f64>) -> DVector<f64> {
    let max = u.max();
    let sum: f64 = u.iter().map(|x| (x - max).exp()).sum();
    u.map(|x| x - max - sum.ln())
}

/// Replaces log-likelihoods by posteriors, 1 in sum, and returns ln Σ exp. `largest` is the largest log-likelihood; it is
/// finite. Posteriors are multiplied by the inverse of their sum, as in the reference; [`soft_max`] divides by the sum.
#[inline]
pub fn posteriors(log_likelihoods: &mut [f32], largest: f32) -> f32 {
    let mut sum = 0.0;
    for value in log_likelihoods.iter_mut() {
        let exponent = *value - largest;
        *value = if exponent < LEAST_EXPONENT { 0.0 } else { exponent.exp() };
        sum += *value;
    }
    let scale = (1.0 / f64::from(sum)) as f32;
    log_likelihoods.iter_mut().for_each(|value| *value *= scale);
    largest + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_of_probabilities() {
        let u = DVector::from_vec([1.0f64, 3.0, 4.0].map(|x| x.ln() + 900.0).to_vec());
        let expected = DVector::from_vec([0.125f64, 0.375, 0.5].map(f64::ln).to_vec());
        assert!((log_soft_max(&u) - expected).amax() < 1e-12);
    }

    #[test]
    fn posteriors_and_their_sum() {
        let mut values = [1.0f32, 8.0, 2.0, 4.0, 0.0].map(|x| x.ln().max(-500.0) - 80.0);
        let largest = values[1];
        assert!((posteriors(&mut values, largest) - (15f32.ln() - 80.0)).abs() < 1e-4);
        let expected = [1.0, 8.0, 2.0, 4.0, 0.0].map(|x| x / 15.0);
        assert!(values.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{values:?}");
    }

    #[test]
    fn ratios_stay_and_the_sum_is_one() {
        let mut values = [1.0f64, 8.0, 2.0, 4.0].map(|x| x.ln() - 800.0);
        soft_max(&mut values);
        let expected = [1.0, 8.0, 2.0, 4.0].map(|x| x / 15.0);
        assert!(values.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{values:?}");
        let mut single = [f32::NEG_INFINITY, 0.0];
        soft_max(&mut single);
        assert_eq!(single, [0.0, 1.0]);
        soft_max::<f32>(&mut []);
        let mut impossible = [f32::NEG_INFINITY; 2];
        soft_max(&mut impossible);
        assert!(impossible.iter().all(|x| x.is_nan()));
    }
}
