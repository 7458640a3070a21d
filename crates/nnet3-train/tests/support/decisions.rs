//! Decisions on a device compared with their rules on the host, including the last digit, because the host recomputes
//! messages.

use nnet3_core::orthonormal::{FloatingStep, warning};
use nnet3_matrix::{Accumulator, Device, Matrix, SumRange, cpu};
use nnet3_train::norm_limits::{limit_norms, norm_factors};

/// Numbers from 0 to below 2 that look random.
fn numbers(seed: usize, len: usize) -> Vec<f64> {
    (0..len).map(|k| ((k + 1) * (seed * 7919 + 104_729) % 1_000_003) as f64 / 500_001.5).collect()
}

pub fn limits_of_norms(device: &Device) {
    for (count, first, scale) in [(0, 0, 1.0), (1, 2, -0.3), (5, 0, 1.3), (40, 3, 0.7)] {
        for spoilt in
            [None, Some(f64::INFINITY), Some(f64::NAN)].into_iter().filter(|s| s.is_none() || count > 0)
        {
            let (mut all, mut limits) = (numbers(count, first + count + 1), numbers(count + 9, count + 1));
            limits[count / 2] = 0.0;
            if let Some(value) = spoilt {
                all[first + count / 2] = value;
            }
            let expected = norm_factors(&all[first..first + count], &limits, f64::abs(scale));
            assert_eq!(expected.finite, spoilt.is_none());
            let mut factors = Matrix::from_slice(device, 1, count + 1, &vec![5.0; count + 1]);
            let (mut sums, mut numbers) = (Accumulator::from_vec(all), Accumulator::from_vec(limits));
            limit_norms(device, factors.view_mut(), &mut sums, first, &mut numbers, scale);
            let rule =
                |factor: &f64| if expected.finite { (factor * expected.all * scale) as f32 } else { 0.0 };
            let last = if expected.finite { 1.0 } else { 0.0 };
            let expected: Vec<f32> = expected.each.iter().map(rule).chain([last]).collect();
            assert_eq!(factors.to_vec(), expected, "{count} from {first}, {spoilt:?}");
        }
    }
}

pub fn steps_towards_orthogonal_rows(device: &Device) {
    for dim in [1, 3, 9] {
        for ratio in [1.0, 0.5, 0.95, 1.03, 3.0, f64::NAN] {
            for square in [1.7, 0.0] {
                let products = ratio * square * square / dim as f64;
                let decided = |device: &Device| {
                    let mut sums = Accumulator::from_vec(vec![9.0, square, products, 9.0]);
                    let mut factors = Matrix::from_slice(device, 1, 2, &[5.0, 5.0]);
                    let norms = SumRange { sums: &mut sums, first: 1, count: 2 };
                    device.decide(factors.view_mut(), &mut [norms], &FloatingStep { dim });
                    factors.to_vec()
                };
                let factors = decided(device);
                assert_eq!(factors, decided(&cpu()), "ratio {ratio}");
                // A step is made if the numbers are possible.
                let possible = square != 0.0 && ratio > 0.9;
                assert_eq!(factors[1] < 0.0, possible, "ratio {ratio}: {factors:?}");
                assert_eq!(warning(square, products, dim).is_none(), square == 0.0 || ratio == 1.0);
            }
        }
    }
}
