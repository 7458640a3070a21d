//! Estimation of PLDA models by expectation maximisation.
//!
//! Speakers with the same number n of vectors share X = (B⁻¹ + n W⁻¹)⁻¹, so their means are one block.

use std::collections::BTreeMap;

use kaldi_numerics::symmetric::symmetric_part;
use nalgebra::{DMatrix, DVector};

use crate::error::{Error, Result};
use crate::linear;
use crate::plda::Plda;

/// A model and the traces of its covariances after each iteration: within and between speakers.
#[derive(Debug, Clone)]
pub struct Estimate {
    pub model: Plda,
    pub traces: Vec<(f64, f64)>,
}

/// Returns the model after `iterations` iterations from unit covariances. Its mean is the mean of the speakers' means.
///
/// # Errors
/// If dimensions differ, if there are not more vectors than dimensions, if each speaker has one vector, or if a
/// covariance becomes singular.
pub fn estimate(speakers: &[Vec<Vec<f32>>], iterations: usize) -> Result<Estimate> {
    let count: usize = speakers.iter().map(Vec::len).sum();
    let dim = speakers.iter().flatten().next().map_or(0, Vec::len);
    if count <= dim {
        return Err(Error::data(format!(
            "{count} vectors of dimension {dim}: PLDA needs more vectors than dimensions"
        )));
    }
    if speakers.iter().all(|vectors| vectors.len() < 2) {
        let speakers = speakers.len();
        return Err(Error::data(format!(
            "PLDA needs a speaker with two vectors, found none among {speakers} speakers"
        )));
    }
    let mut scatter = DMatrix::zeros(dim, dim);
    let mut means: BTreeMap<usize, Vec<DVector<f64>>> = BTreeMap::new();
    let mut mean = DVector::zeros(dim);
    let known = speakers.iter().filter(|vectors| !vectors.is_empty());
    let classes = known.clone().count() as f64;
    for vectors in known {
        if let Some(x) = vectors.iter().find(|x| x.len() != dim) {
            return Err(Error::data(format!(
                "the vectors have dimensions {dim} and {}; expected the same",
                x.len()
            )));
        }
        let (own_mean, covariance) = linear::mean_and_covariance(&linear::columns(vectors)?);
        scatter += covariance * vectors.len() as f64;
        mean += &own_mean / classes;
        means.entry(vectors.len()).or_default().push(own_mean);
    }
    let blocks: Vec<(f64, DMatrix<f64>)> = means
        .into_iter()
        .map(|(n, means)| {
            let mut block = DMatrix::from_columns(&means);
            block.column_iter_mut().for_each(|mut x| x -= &mean);
            (n as f64, block)
        })
        .collect();
    let (mut within, mut between) = (DMatrix::identity(dim, dim), DMatrix::identity(dim, dim));
    let mut traces = Vec::new();
    for _ in 0..iterations {
        let precision = linear::inverse(within, "within-speaker covariance")?;
        let between_precision = linear::inverse(between, "between-speaker covariance")?;
        let mut new_within = scatter.clone();
        let mut new_between = DMatrix::zeros(dim, dim);
        for (n, means) in &blocks {
            let posterior = between_precision.zip_map(&precision, |between, within| between + within * n);
            let posterior = linear::inverse(posterior, "posterior precision of speakers")?;
            let speakers = &posterior * (&precision * means * *n);
            let rest = means - &speakers;
            let members = means.ncols() as f64;
            new_between.zip_apply(&posterior, |sum, x| *sum += x * members);
            new_between.gemm(1.0, &speakers, &speakers.transpose(), 1.0);
            new_within.zip_apply(&posterior, |sum, x| *sum += x * (n * members));
            new_within.gemm(*n, &rest, &rest.transpose(), 1.0);
        }
        within = symmetric_part(&(new_within / count as f64));
        between = symmetric_part(&(new_between / classes));
        traces.push((within.trace(), between.trace()));
    }
    Ok(Estimate { model: Plda::from_covariances(mean, &within, &between)?, traces })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns speakers with at most `most` three-dimensional vectors around different means.
    pub(crate) fn sample(speakers: usize, most: usize) -> Vec<Vec<Vec<f32>>> {
        let mut state = 12345u64;
        let mut next = move || {
            // Sum of uniform numbers: close enough to normal.
            (0..6)
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    (state >> 33) as f64 / (1u64 << 31) as f64 - 0.5
                })
                .sum::<f64>()
        };
        (0..speakers)
            .map(|s| {
                let mean = [3.0 * next() + 1.0, 2.0 * next(), next() - 2.0];
                let vector = |common: f64, own: f64| {
                    (0..3).map(|d| (mean[d] + 0.3 * common + own * (d + 1) as f64 * 0.2) as f32).collect()
                };
                let mut vectors: Vec<Vec<f32>> = Vec::new();
                for _ in 0..most - s % 3 {
                    let mut x: Vec<f32> = vector(next(), next());
                    x[1] += next() as f32 * 0.5;
                    vectors.push(x);
                }
                vectors
            })
            .collect()
    }

    #[test]
    fn one_iteration_is_the_formula_speaker_by_speaker() {
        let speakers = sample(7, 5);
        let found = estimate(&speakers, 1).unwrap();
        let identity = DMatrix::<f64>::identity(3, 3);
        let mean_of = |x: &[Vec<f32>]| {
            x.iter().fold(DVector::zeros(3), |sum, x| sum + linear::column(x)) / x.len() as f64
        };
        let mean = speakers.iter().fold(DVector::zeros(3), |sum, s| sum + mean_of(s)) / 7.0;
        let (mut within, mut between, mut count) = (DMatrix::zeros(3, 3), DMatrix::zeros(3, 3), 0.0);
        for vectors in &speakers {
            let own = mean_of(vectors);
            let n = vectors.len() as f64;
            count += n;
            for x in vectors {
                let rest = linear::column(x) - &own;
                within += &rest * rest.transpose();
            }
            let posterior = (&identity + &identity * n).try_inverse().unwrap();
            let speaker = &posterior * n * (&own - &mean);
            let rest = &own - &mean - &speaker;
            between += &posterior + &speaker * speaker.transpose();
            within += (&posterior + &rest * rest.transpose()) * n;
        }
        let (within, between) = (within / count, between / 7.0);
        let a = &found.model.transform;
        assert!((a * &within * a.transpose() - &identity).amax() < 1e-9);
        let psi = DMatrix::from_diagonal(&found.model.psi);
        assert!((a * &between * a.transpose() - psi).amax() < 1e-9);
        assert!((found.traces[0].0 - within.trace()).abs() < 1e-9);
        assert!((&found.model.mean - mean).amax() < 1e-12);
    }

    #[test]
    fn data_that_do_not_suffice() {
        let message = |speakers: &[Vec<Vec<f32>>]| estimate(speakers, 3).unwrap_err().to_string();
        assert!(message(&[]).starts_with("0 vectors"));
        assert!(message(&[vec![vec![1.0, 2.0], vec![2.0, 1.0]]]).starts_with("2 vectors of dimension 2"));
        assert!(message(&[vec![vec![1.0]], vec![vec![2.0]]]).ends_with("found none among 2 speakers"));
        assert!(message(&[vec![vec![1.0]; 2], vec![vec![2.0, 1.0]]]).contains("dimensions 1 and 2"));
    }
}
