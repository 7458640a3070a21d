//! Probabilities from their logarithms, up to a common factor.

use nalgebra::RealField;

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

#[cfg(test)]
mod tests {
    use super::*;

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
