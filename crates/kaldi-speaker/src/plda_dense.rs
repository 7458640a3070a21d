//! PLDA scores of all pairs of vectors of a recording, in the space of its principal components.

use kaldi_io::DenseMatrix;

use crate::error::{Error, Result};
use crate::linear;
use crate::plda::{Length, Plda};
use crate::plda_adapt::project;

/// Target energies so near to 1 keep all dimensions.
const NEAR_ONE: f64 = 0.001;

/// Returns the scores of all pairs: row = enrolled with one vector, column = test.
///
/// The principal components with more than the share `target_energy` of the variance are kept, and one more, as in
/// Kaldi. The mean is not subtracted. A recording without variance, such as one with a single vector, keeps all dimensions.
///
/// # Errors
/// If a vector has not the model's dimension, or `target_energy` asks for more dimensions than there are.
pub fn score_all_pairs<V: AsRef<[f32]>>(
    model: &Plda,
    vectors: &[V],
    target_energy: f64,
    length: Length,
) -> Result<DenseMatrix<f32>> {
    let all = vectors.iter().enumerate().map(|(i, x)| {
        if x.as_ref().len() != model.dim() {
            let (found, dim) = (x.as_ref().len(), model.dim());
            return Err(Error::data(format!("vector {i} has dimension {found}, the PLDA model {dim}")));
        }
        Ok(x.as_ref().to_vec())
    });
    let all: Vec<Vec<f32>> = all.collect::<Result<_>>()?;
    let near_one = (target_energy - 1.0).abs() <= NEAR_ONE * (target_energy.abs() + 1.0);
    let columns = linear::columns(&all)?;
    let (_, covariance) = linear::mean_and_covariance(&columns);
    if near_one || covariance.trace() <= 0.0 {
        return score(model, &all, length);
    }
    let (values, rows) = linear::eigen(&covariance, "covariance of the recording")?;
    let total: f64 = values.iter().sum();
    let mut energy = 0.0;
    let reached = values.iter().position(|value| {
        energy += value;
        energy / total > target_energy
    });
    let Some(kept) = reached.map(|k| k + 2).filter(|&kept| kept <= model.dim()) else {
        let dim = model.dim();
        return Err(Error::options(format!(
            "`target-energy`={target_energy}: the {dim} dimensions do not suffice; 1 keeps all"
        )));
    };
    let projection = rows.rows(0, kept).into_owned();
    let projected = &projection * columns;
    let projected: Vec<Vec<f32>> =
        projected.column_iter().map(|x| x.iter().map(|&x| x as f32).collect()).collect();
    score(&project(model, &projection)?, &projected, length)
}

fn score(model: &Plda, vectors: &[Vec<f32>], length: Length) -> Result<DenseMatrix<f32>> {
    let mut points = Vec::new();
    for x in vectors {
        points.push(model.project(x, 1, length)?.0);
    }
    model.scorer(1).all_pairs(&points)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plda_estimate::{estimate, tests::sample};

    #[test]
    fn scores_in_all_dimensions_are_those_of_trials() {
        let speakers = sample(9, 12);
        let model = estimate(&speakers, 5).unwrap().model;
        let vectors = &speakers[0];
        let scores = score_all_pairs(&model, vectors, 1.0, Length::Expected).unwrap();
        let point = |x: &[f32]| model.project(x, 1, Length::Expected).unwrap().0;
        for i in 0..vectors.len() {
            for j in 0..vectors.len() {
                let expected = model.scorer(1).score(&point(&vectors[i]), &point(&vectors[j]));
                assert!((f64::from(scores.row(i)[j]) - expected).abs() < 1e-4 * expected.abs().max(1.0));
                assert!((scores.row(i)[j] - scores.row(j)[i]).abs() < 1e-3);
            }
        }
        // Keeping three of three principal components is a rotation, which changes no score.
        let (_, covariance) = linear::mean_and_covariance(&linear::columns(vectors).unwrap());
        let (values, _) = linear::eigen(&covariance, "sample").unwrap();
        let target = (values[0] + 0.5 * values[1]) / values.sum();
        let rotated = score_all_pairs(&model, vectors, target, Length::Expected).unwrap();
        for (found, expected) in rotated.data.iter().zip(&scores.data) {
            assert!((found - expected).abs() < 1e-3 * expected.abs().max(1.0), "{found} {expected}");
        }
        // Two components do otherwise.
        let fewer = score_all_pairs(&model, vectors, 0.01, Length::Expected).unwrap();
        assert!(fewer.data.iter().zip(&scores.data).any(|(found, expected)| (found - expected).abs() > 0.01));
        let error = score_all_pairs(&model, vectors, 1.5, Length::Expected).unwrap_err().to_string();
        assert!(error.contains("`target-energy`=1.5"), "{error}");
        let single = score_all_pairs(&model, &vectors[..1], 0.5, Length::Expected).unwrap();
        assert_eq!((single.rows, single.cols), (1, 1));
        assert!(score_all_pairs(&model, &[[1f32]], 0.5, Length::Expected).is_err());
    }
}
