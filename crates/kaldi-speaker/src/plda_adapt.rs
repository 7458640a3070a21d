//! Changes of PLDA models for other data: adaptation without speaker labels, and projection to fewer dimensions.

use kaldi_numerics::symmetric::symmetric_part;
use nalgebra::{DMatrix, DVector};

use crate::error::{Error, Result};
use crate::linear;
use crate::plda::Plda;

/// Shares of variance that the model does not explain and that are added to its covariances.
#[derive(Debug, Clone, PartialEq)]
pub struct AdaptOptions {
    /// Factor of the covariance that the difference of the means counts as.
    pub mean_diff_scale: f64,
    pub within_scale: f64,
    pub between_scale: f64,
}

/// An adapted model, and the total variances of the vectors in a space in which the old model expects 1, decreasing.
/// Beside each are the variances within and between speakers that were used.
#[derive(Debug, Clone)]
pub struct Adapted {
    pub model: Plda,
    pub directions: Vec<[f64; 3]>,
}

/// Adapts a model to vectors without speaker labels.
///
/// In the space in which the model's total covariance is the unit matrix, the vectors' covariance is P diag(s) Pᵀ. For
/// directions with s > 1 a part of s − 1 is added to the variance within and another part to that between speakers.
///
/// # Errors
/// If there are no vectors, or their dimension is not the model's.
pub fn adapt<V: AsRef<[f32]>>(model: &Plda, vectors: &[V], options: &AdaptOptions) -> Result<Adapted> {
    let dim = model.dim();
    let Some(first) = vectors.first() else {
        return Err(Error::data("no vectors to adapt the PLDA model to"));
    };
    let found = first.as_ref().len();
    if found != dim {
        return Err(Error::data(format!("dimension {found}, the PLDA model has {dim}")));
    }
    let (mean, mut covariance) = linear::mean_and_covariance(&linear::columns(vectors)?);
    let shift = &mean - &model.mean;
    covariance.ger(options.mean_diff_scale, &shift, &shift, 1.0);
    let mut unit = model.transform.clone();
    unit.row_iter_mut().zip(&model.psi).for_each(|(mut row, psi)| row /= (1.0 + psi).sqrt());
    let (values, rows) =
        linear::eigen(&(&unit * covariance * unit.transpose()), "covariance of the vectors")?;
    let rotated =
        |part: &dyn Fn(f64) -> f64| &rows * DMatrix::from_diagonal(&model.psi.map(part)) * rows.transpose();
    let mut within = rotated(&|psi| 1.0 / (1.0 + psi));
    let mut between = rotated(&|psi| psi / (1.0 + psi));
    let mut directions = Vec::new();
    for (i, &value) in values.iter().enumerate() {
        directions.push([value, within[(i, i)], between[(i, i)]]);
        if value > 1.0 {
            within[(i, i)] += options.within_scale * (value - 1.0);
            between[(i, i)] += options.between_scale * (value - 1.0);
        }
    }
    let back = (&rows * unit)
        .try_inverse()
        .ok_or_else(|| Error::data("the transform of the PLDA model is singular"))?;
    let original = |m: DMatrix<f64>| symmetric_part(&(&back * m * back.transpose()));
    let model = Plda::from_covariances(mean, &original(within), &original(between))?;
    Ok(Adapted { model, directions })
}

/// Returns the model of vectors after a multiplication by `projection`, which must have orthonormal rows.
pub(crate) fn project(model: &Plda, projection: &DMatrix<f64>) -> Result<Plda> {
    let inverse = model
        .transform
        .clone()
        .try_inverse()
        .ok_or_else(|| Error::data("the transform of the PLDA model is singular"))?;
    let mixing = projection * inverse;
    let within = &mixing * mixing.transpose();
    let between = &mixing * DMatrix::from_diagonal(&model.psi) * mixing.transpose();
    let mean: DVector<f64> = projection * &model.mean;
    Plda::from_covariances(mean, &symmetric_part(&within), &symmetric_part(&between))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plda_estimate::{estimate, tests::sample};

    fn covariances(model: &Plda) -> (DMatrix<f64>, DMatrix<f64>) {
        let inverse = model.transform.clone().try_inverse().unwrap();
        let between = &inverse * DMatrix::from_diagonal(&model.psi) * inverse.transpose();
        (&inverse * inverse.transpose(), between)
    }

    #[test]
    fn only_directions_with_more_variance_change() {
        let model = estimate(&sample(9, 12), 5).unwrap().model;
        let options = AdaptOptions { mean_diff_scale: 0.0, within_scale: 0.3, between_scale: 0.7 };
        let small: Vec<[f32; 3]> = vec![[0.01, 0.0, 0.0], [0.0, 0.01, 0.0], [0.0, 0.0, 0.01]];
        let adapted = adapt(&model, &small, &options).unwrap();
        let ((w, b), (w2, b2)) = (covariances(&model), covariances(&adapted.model));
        assert!((&w - w2).amax() < 1e-9 && (&b - b2).amax() < 1e-9);
        // 0.3 + 0.7 = 1. The vectors' total covariance is larger everywhere, so it becomes the model's total
        // covariance.
        let large: Vec<Vec<f32>> =
            sample(9, 12).concat().iter().map(|x| x.iter().map(|x| x * 9.0).collect()).collect();
        let adapted = adapt(&model, &large, &options).unwrap();
        assert!(adapted.directions.iter().all(|d| d[0] > 1.0), "{:?}", adapted.directions);
        let (w, b) = covariances(&adapted.model);
        let (mean, covariance) = linear::mean_and_covariance(&linear::columns(&large).unwrap());
        assert!((w + b - &covariance).amax() < 1e-6 * covariance.amax());
        assert_eq!(adapted.model.mean, mean);
        assert!(adapt(&model, &[[1f32]], &options).unwrap_err().to_string().starts_with("dimension 1"));
        assert!(adapt(&model, &[] as &[[f32; 3]], &options).is_err());
    }

    #[test]
    fn a_projected_model_has_projected_covariances() {
        let model = estimate(&sample(9, 12), 5).unwrap().model;
        let projection = DMatrix::from_row_slice(2, 3, &[0.6, 0.8, 0.0, 0.0, 0.0, 1.0]);
        let projected = project(&model, &projection).unwrap();
        let ((w, b), (w2, b2)) = (covariances(&model), covariances(&projected));
        assert!((&projection * w * projection.transpose() - w2).amax() < 1e-9);
        assert!((&projection * b * projection.transpose() - b2).amax() < 1e-9);
    }
}
