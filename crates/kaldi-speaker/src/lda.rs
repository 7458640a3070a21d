//! Discriminant analysis of speaker vectors.
//!
//! T, W and B = T − W are the total, within-speaker and between-speaker covariances, all divided by the number of
//! vectors. C = f T + (1 − f) W = U diag(s) Uᵀ, and N = diag(s)^−½ Uᵀ. The rows of the transform are the eigenvectors
//! of N B Nᵀ with the largest eigenvalues, times N. An offset in the last column makes the mean zero.

use kaldi_io::DenseMatrix;
use nalgebra::{DMatrix, DVector};

use crate::error::{Error, Result};
use crate::linear;

#[derive(Debug, Clone, PartialEq)]
pub struct LdaOptions {
    /// Rows of the transform.
    pub dim: usize,
    /// f, the weight of the total covariance against the within-speaker one.
    pub total_factor: f64,
    /// Eigenvalues of C below this share of the largest are raised to it.
    pub covariance_floor: f64,
}

/// A transform, and messages about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Lda {
    /// dim × (dimension of the vectors + 1).
    pub transform: DenseMatrix<f32>,
    /// Eigenvalues of the between-speaker covariance in the normalised space, decreasing.
    pub variances: Vec<f64>,
    /// Number of eigenvalues of C that were raised, and the value to which.
    pub floored: (usize, f64),
    pub mean_norm: f64,
}

/// Returns the transform for the vectors of each speaker. All vectors must have the same dimension.
///
/// # Errors
/// If there are fewer vectors than dimensions, no speaker has two vectors, a dimension is out of range, or the
/// covariance is zero.
pub fn lda(speakers: &[Vec<Vec<f32>>], options: &LdaOptions) -> Result<Lda> {
    let all: Vec<&Vec<f32>> = speakers.iter().flatten().collect();
    let (count, dim) = (all.len(), all.first().map_or(0, |x| x.len()));
    if count == 0 {
        return Err(Error::data("no vectors"));
    }
    if !(1..=dim).contains(&options.dim) {
        let wanted = options.dim;
        return Err(Error::options(format!("`dim`={wanted}: the vectors have dimension {dim}")));
    }
    if count < dim {
        return Err(Error::data(format!(
            "{count} vectors of dimension {dim}: at least as many vectors as dimensions are needed"
        )));
    }
    if speakers.iter().all(|vectors| vectors.len() < 2) {
        let speakers = speakers.len();
        return Err(Error::data(format!(
            "none of {speakers} speakers has two vectors; expected at least one such speaker"
        )));
    }
    let vectors = linear::columns(&all)?;
    let (mean, total) = linear::mean_and_covariance(&vectors);
    let mean = DVector::from_iterator(dim, mean.iter().map(|&x| f64::from(x as f32)));
    let mut between = DMatrix::zeros(dim, dim);
    let mut first = 0;
    for own in speakers.iter().map(Vec::len).filter(|&own| own > 0) {
        let offset = vectors.columns(first, own).column_mean() - &mean;
        between.ger(own as f64 / count as f64, &offset, &offset, 1.0);
        first += own;
    }
    let mixed = &total - &between * (1.0 - options.total_factor);
    let (mut values, mut normalizer) = linear::eigen(&mixed, "covariance")?;
    let floor = values[0] * options.covariance_floor;
    if values[0].is_nan() || values[0] <= 0.0 {
        return Err(Error::data(
            "the covariance is zero: vectors of the same speaker, or all vectors, are equal",
        ));
    }
    let mut floored = 0;
    for value in values.iter_mut().filter(|value| **value < floor) {
        *value = floor;
        floored += 1;
    }
    if values.iter().any(|&value| value <= 0.0) {
        return Err(Error::data("the covariance is singular; see `covariance-floor`"));
    }
    normalizer.row_iter_mut().zip(&values).for_each(|(mut row, value)| row /= value.sqrt());
    let projected = &normalizer * between * normalizer.transpose();
    let (variances, rows) = linear::eigen(&projected, "between-speaker covariance")?;
    let linear = rows.rows(0, options.dim) * normalizer;
    let mut transform = DenseMatrix::new(options.dim, dim + 1);
    for i in 0..options.dim {
        let out = transform.row_mut(i);
        let mut offset = 0.0;
        for j in 0..dim {
            out[j] = linear[(i, j)] as f32;
            offset -= f64::from(out[j]) * mean[j];
        }
        out[dim] = offset as f32;
    }
    Ok(Lda {
        transform,
        variances: variances.as_slice().to_vec(),
        floored: (floored, floor),
        mean_norm: mean.norm(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plda_estimate::tests::sample;

    #[test]
    fn the_transform_makes_speakers_white_and_the_mean_zero() {
        let speakers = sample(9, 12);
        let options = LdaOptions { dim: 3, total_factor: 0.0, covariance_floor: 1e-6 };
        let lda = lda(&speakers, &options).unwrap();
        assert_eq!((lda.transform.rows, lda.transform.cols, lda.floored.0), (3, 4, 0));
        let transformed: Vec<Vec<Vec<f32>>> = speakers
            .iter()
            .map(|s| s.iter().map(|x| crate::vectors::transform(&lda.transform, x).unwrap()).collect())
            .collect();
        let all: Vec<&Vec<f32>> = transformed.iter().flatten().collect();
        let count = all.len() as f64;
        // Covariances by their definition.
        let mean_of = |vectors: &[&Vec<f32>], d: usize| {
            vectors.iter().map(|x| f64::from(x[d])).sum::<f64>() / vectors.len() as f64
        };
        for i in 0..3 {
            assert!(mean_of(&all, i).abs() < 1e-4);
            for j in 0..3 {
                let (mut within, mut between) = (0.0, 0.0);
                for speaker in &transformed {
                    let own: Vec<&Vec<f32>> = speaker.iter().collect();
                    let (mi, mj) = (mean_of(&own, i), mean_of(&own, j));
                    within +=
                        own.iter().map(|x| (f64::from(x[i]) - mi) * (f64::from(x[j]) - mj)).sum::<f64>()
                            / count;
                    between += own.len() as f64 * mi * mj / count;
                }
                let same = f64::from(i == j);
                assert!((within - same).abs() < 1e-3, "{i} {j} {within}");
                assert!((between - same * lda.variances[i]).abs() < 1e-2, "{i} {j} {between}");
            }
        }
    }

    #[test]
    fn data_that_do_not_suffice() {
        let options = LdaOptions { dim: 2, total_factor: 0.0, covariance_floor: 1e-6 };
        let message = |speakers: &[Vec<Vec<f32>>]| lda(speakers, &options).unwrap_err().to_string();
        assert_eq!(message(&[]), "no vectors");
        assert!(message(&[vec![vec![1.0], vec![2.0]]]).contains("`dim`=2"));
        assert!(
            message(&[vec![vec![1.0, 2.0, 3.0], vec![1.0, 0.0, 0.0]]])
                .starts_with("2 vectors of dimension 3")
        );
        let singles: Vec<Vec<Vec<f32>>> = (0..3).map(|i| vec![vec![i as f32, 1.0]]).collect();
        assert_eq!(
            message(&singles),
            "none of 3 speakers has two vectors; expected at least one such speaker"
        );
        assert!(message(&[vec![vec![1.0, 2.0]; 3]]).contains("zero"));
    }
}
