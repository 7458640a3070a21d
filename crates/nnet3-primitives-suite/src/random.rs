//! Random fill: reproducible, independent of layout, and distributed as promised.

use super::*;
use nnet3_matrix::{Backend, Matrix, ViewMut};

type Fill = fn(&dyn Backend, ViewMut<'_>, u64);

fn filled(device: &Device, fill: Fill, rows: usize, cols: usize, key: u64) -> Vec<f32> {
    let mut matrix = Matrix::zeros(device, rows, cols);
    fill(device.as_ref(), matrix.view_mut(), key);
    matrix.to_vec()
}

/// Mean, variance, and correlation with `lag` further on.
fn moments(x: &[f32], lag: usize) -> [f64; 3] {
    let n = x.len() as f64;
    let mean = x.iter().map(|&x| x as f64).sum::<f64>() / n;
    let variance = x.iter().map(|&x| (x as f64 - mean).powi(2)).sum::<f64>() / n;
    let pairs = x.iter().zip(&x[lag..]);
    let together = pairs.map(|(&a, &b)| (a as f64 - mean) * (b as f64 - mean)).sum::<f64>();
    [mean, variance, together / (n - lag as f64) / variance]
}

fn check(device: &Device, fill: Fill, mean: f64, variance: f64, quantile: impl Fn(f64) -> f64) {
    let (rows, cols) = (1000, 500);
    let x = filled(device, fill, rows, cols, 11);
    // Standard errors for half a million numbers are about 0.0014 (mean, variance of 1).
    for lag in [1, 2, cols] {
        let [m, v, correlation] = moments(&x, lag);
        assert!((m - mean).abs() < 0.006 && (v - variance).abs() < 0.01, "mean {m}, variance {v}");
        assert!(correlation.abs() < 0.006, "correlation {correlation} at {lag}");
    }
    let mut sorted = x.clone();
    sorted.sort_by(f32::total_cmp);
    for p in [0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999] {
        let below = sorted.partition_point(|&v| (v as f64) < quantile(p)) as f64 / x.len() as f64;
        let error = (p * (1.0 - p) / x.len() as f64).sqrt();
        assert!((below - p).abs() < 5.0 * error, "{below} of the numbers below the {p} quantile");
    }
    assert!(sorted.windows(2).filter(|w| w[0] == w[1]).count() < x.len() / 20, "many numbers are the same");

    assert_eq!(x, filled(device, fill, rows, cols, 11), "not reproducible");
    let other = filled(device, fill, rows, cols, 12);
    let both: Vec<f32> = x.iter().zip(&other).flat_map(|(&a, &b)| [a, b]).collect();
    assert!(moments(&both, 1)[2].abs() < 0.006, "neighbouring keys give related numbers");
    // The result does not depend on the stride. If rows are joined, the result is the same too, as in a generator's
    // stream.
    let mut wide = Matrix::zeros(device, 20, 30);
    fill(device.as_ref(), wide.view_mut().sub(3..17, 5..18), 11);
    let inside = device.download(wide.view().sub(3..17, 5..18));
    assert_eq!(inside, filled(device, fill, 14, 13, 11));
    assert_eq!(inside, filled(device, fill, 1, 14 * 13, 11));
    assert_eq!(wide.to_vec().iter().filter(|&&v| v != 0.0).count(), 14 * 13);
    assert!(filled(device, fill, 0, 3, 1).is_empty());
}

pub(crate) fn fill_uniform(device: &Device) {
    check(device, |device, dst, key| device.fill_uniform(dst, key), 0.5, 1.0 / 12.0, |p| p);
    let x = filled(device, |device, dst, key| device.fill_uniform(dst, key), 2000, 1000, 5);
    assert!(x.iter().all(|&x| x > 0.0 && x < 1.0));
    // Every device must give these bits.
    let first = filled(device, |device, dst, key| device.fill_uniform(dst, key), 1, 3, 0);
    assert_eq!(first, reference(0, 3));
}

/// (top 23 bits of splitmix64's output + 1/2) / 2^23.
fn reference(key: u64, count: u64) -> Vec<f32> {
    let mix = |z: u64| {
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d049bb133111eb);
        z ^ (z >> 31)
    };
    const STEP: u64 = 0x9e3779b97f4a7c15;
    let seed = mix(key.wrapping_add(STEP));
    let number =
        |n: u64| ((mix(seed.wrapping_add((n + 1).wrapping_mul(STEP))) >> 41) as f64 + 0.5) / 8388608.0;
    (0..count).map(|n| number(n) as f32).collect()
}

pub(crate) fn fill_normal(device: &Device) {
    // Quantiles of the normal distribution.
    let table =
        [(0.5, 0.0), (0.75, 0.6744897502), (0.9, 1.2815515655), (0.99, 2.326347874), (0.999, 3.0902323062)];
    let quantile = move |p: f64| {
        let upper =
            table.iter().find(|(q, _)| (q - p.max(1.0 - p)).abs() < 1e-9).expect("a quantile of the table").1;
        if p < 0.5 { -upper } else { upper }
    };
    check(device, |device, dst, key| device.fill_normal(dst, key), 0.0, 1.0, quantile);
    let x = filled(device, |device, dst, key| device.fill_normal(dst, key), 2000, 1000, 5);
    let largest = x.iter().fold(0.0f32, |m, x| m.max(x.abs()));
    assert!(largest > 4.5 && largest < 7.0, "largest of two million: {largest}");
}
