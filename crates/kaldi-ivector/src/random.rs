//! Normal random numbers in the reference's order.

use kaldi_gmm::random::{Rand, gauss, uniform};
use nalgebra::DMatrix;

/// Makes the seed of a stream of its own differ from the number that it was drawn as.
const SEED: u32 = 27437;

/// Fills a matrix with normal numbers, row after row. One number of `rand` starts a stream of its own (C's `rand_r`), from
/// which numbers are drawn in pairs (r cos φ, r sin φ).
pub(crate) fn normal_matrix(rows: usize, cols: usize, rand: Rand<'_>) -> DMatrix<f64> {
    let mut state = (rand() as u32).wrapping_add(SEED);
    let own: Rand<'_> = &mut || rand_r(&mut state);
    let mut data = Vec::with_capacity(rows * cols);
    for _ in 0..rows {
        for _ in 0..cols / 2 {
            let radius = (-2.0 * uniform(own).ln()).sqrt();
            let angle = (2.0 * std::f64::consts::PI * f64::from(uniform(own))) as f32;
            let (sin, cos) = angle.sin_cos();
            data.extend([f64::from(radius * cos), f64::from(radius * sin)]);
        }
        if cols % 2 == 1 {
            data.push(gauss(own).into());
        }
    }
    DMatrix::from_row_slice(rows, cols, &data)
}

/// The C library's `rand_r()`.
fn rand_r(state: &mut u32) -> i32 {
    [11, 10, 10].into_iter().fold(0, |result, bits| {
        *state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
        (result << bits) ^ ((*state >> 16) % (1 << bits)) as i32
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of a C program that calls `rand_r` three times.
    #[test]
    fn the_numbers_of_rand_r() {
        let mut state = 1_804_316_820;
        assert_eq!([(); 3].map(|()| rand_r(&mut state)), [200811192, 735233328, 1421005139]);
    }

    #[test]
    fn rows_have_pairs_and_a_single_number() {
        let mut count = 0;
        let matrix = normal_matrix(200, 5, &mut || {
            count += 1;
            1_804_289_383
        });
        assert_eq!(count, 1);
        let mut state = 1_804_289_383 + SEED;
        let mut next = || ((f64::from(rand_r(&mut state)) + 1.0) / 2_147_483_649.0).ln();
        let radius = (-2.0 * next()).sqrt();
        let angle = 2.0 * std::f64::consts::PI * next().exp();
        assert!((matrix[(0, 0)] - radius * angle.cos()).abs() < 1e-5);
        assert!((matrix[(0, 1)] - radius * angle.sin()).abs() < 1e-5);
        let (mean, squares) = (matrix.mean(), matrix.iter().map(|x| x * x).sum::<f64>() / 1000.0);
        assert!(mean.abs() < 0.1 && (squares - 1.0).abs() < 0.15, "{mean} {squares}");
    }
}
