//! Data for tests.

use kaldi_io::DenseMatrix;

/// Numbers between -1 and 1 from a linear congruential generator.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / f64::from(1u32 << 30) - 1.0
    }
}

pub fn matrix(rows: usize, cols: usize, seed: u64) -> DenseMatrix<f32> {
    let mut numbers = Numbers(seed);
    DenseMatrix { rows, cols, data: (0..rows * cols).map(|_| numbers.next() as f32).collect() }
}

#[track_caller]
pub fn assert_close(found: &[f32], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (i, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        let error = (f64::from(found) - expected).abs();
        assert!(error <= tolerance * (1.0 + expected.abs()), "element {i}: {found} instead of {expected}");
    }
}
