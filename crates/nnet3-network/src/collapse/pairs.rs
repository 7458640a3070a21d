//! Decides which pairs of components can become one, and makes that one.

use super::CollapseOptions;
use kaldi_io::text::format_g;
use nnet3_base::error::{Error, Result};
use nnet3_component::affine::Affine;
use nnet3_component::batch_norm::BatchNorm;
use nnet3_component::dropout::Dropout;
use nnet3_component::fixed::{FixedAffine, FixedScale};
use nnet3_component::linear::Linear;
use nnet3_component::tdnn::Tdnn;
use nnet3_component::time_height::TimeHeightConvolution;
use nnet3_component::{Component, Updatable, UpdatableSettings};
use nnet3_matrix::{Gemm, Matrix};

/// The replacement of a pair.
pub(super) enum Merged {
    /// The second component does the work of both, unchanged.
    Second,
    New {
        name: String,
        component: Box<dyn Component>,
    },
}

/// The component for `second` after `first`, or after several appended copies of it.
pub(super) fn merge(
    first: &dyn Component,
    second: &dyn Component,
    names: (&str, &str),
    options: &CollapseOptions,
) -> Result<Option<Merged>> {
    if options.dropout
        && let Some(merged) = dropout_then_linear(first, second, names.1)
    {
        return Ok(Some(merged));
    }
    let joint_name = || format!("{}.{}", names.0, names.1);
    if let (true, Some(norm)) = (options.batchnorm, as_type::<BatchNorm>(first)) {
        let Some((scale, offset)) = norm.test_transform() else {
            return Err(Error::network(format!(
                "component '{}' must be in test mode before it can be merged with '{}'",
                names.0, names.1
            )));
        };
        if scale.iter().all(|&s| s == 1.0) && offset.iter().all(|&o| o == 0.0) && is_affine_like(second) {
            return Ok(Some(Merged::Second));
        }
        if let Some(component) = transform_then_affine(&scale, &offset, second) {
            return Ok(Some(Merged::New { name: joint_name(), component }));
        }
    }
    let affine = || affine_then_affine(first, second, options.linear).filter(|_| options.affine);
    let scaled = || affine_then_scale(first, second).filter(|_| options.scale);
    Ok(affine().or_else(scaled).map(|component| Merged::New { name: joint_name(), component }))
}

fn as_type<T: Component>(component: &dyn Component) -> Option<&T> {
    component.downcast_ref()
}

fn is_affine_like(component: &dyn Component) -> bool {
    as_type::<Affine>(component).is_some()
        || as_type::<Linear>(component).is_some()
        || as_type::<Tdnn>(component).is_some()
}

/// In test mode dropout multiplies by one number, and general dropout is the identity.
fn dropout_then_linear(first: &dyn Component, second: &dyn Component, name: &str) -> Option<Merged> {
    let factor = match as_type::<Dropout>(first) {
        Some(dropout) => 1.0 - dropout.proportion(),
        None if first.type_name() == "GeneralDropoutComponent" => 1.0,
        None => return None,
    };
    let component: Box<dyn Component> = if let Some(affine) = as_type::<Affine>(second) {
        let linear = scale_columns(affine.linear_params(), &[factor]);
        Box::new(affine.with_params(linear, affine.bias_params().clone()))
    } else if let Some(linear) = as_type::<Linear>(second) {
        Box::new(linear.with_params(scale_columns(linear.linear_params(), &[factor])))
    } else if let Some(tdnn) = as_type::<Tdnn>(second) {
        let linear = scale_columns(tdnn.linear_params(), &[factor]);
        Box::new(tdnn.with_params(linear, tdnn.bias_params().clone()))
    } else {
        let convolution = as_type::<TimeHeightConvolution>(second)?;
        let mut new = convolution.clone();
        new.set_params(
            scale_columns(convolution.linear_params(), &[factor]),
            convolution.bias_params().clone(),
        );
        Box::new(new)
    };
    Some(match factor {
        1.0 => Merged::Second,
        _ => Merged::New { name: format!("{name}.scale{}", format_g(f64::from(factor), 3)), component },
    })
}

/// x → W (s ⊙ x + o) + b, with s and o repeated to the columns of W.
fn transform_then_affine(
    scale: &[f32],
    offset: &[f32],
    second: &dyn Component,
) -> Option<Box<dyn Component>> {
    let merged =
        |linear: &Matrix, bias: &Matrix| (scale_columns(linear, scale), affine_of_row(linear, bias, offset));
    if let Some(affine) = as_type::<Affine>(second) {
        let (linear, bias) = merged(affine.linear_params(), affine.bias_params());
        return Some(Box::new(affine.with_params(linear, bias)));
    }
    if let Some(linear) = as_type::<Linear>(second) {
        let params = linear.linear_params();
        let (params, bias) = merged(params, &or_zeros(&Matrix::empty(), params));
        let learning_rate = linear.settings().learning_rate;
        let settings = UpdatableSettings { learning_rate, ..Default::default() };
        return Some(Box::new(Affine::new(settings, params, bias)));
    }
    let tdnn = as_type::<Tdnn>(second)?;
    let params = tdnn.linear_params();
    let (params, bias) = merged(params, &or_zeros(tdnn.bias_params(), params));
    Some(Box::new(tdnn.with_params(params, bias)))
}

/// x → W₂ (W₁ x + b₁) + b₂, for each of several copies of W₁ x + b₁, appended or read at several times. Not if W₁
/// reduces the dimension: then two products are less work than one. With `linear`, one of the two may be linear or a
/// TDNN.
fn affine_then_affine(
    first: &dyn Component,
    second: &dyn Component,
    linear: bool,
) -> Option<Box<dyn Component>> {
    let (linear1, bias1) = if let Some(fixed) = as_type::<FixedAffine>(first) {
        (fixed.linear(), Some(fixed.bias()))
    } else if first.input_dim() > first.output_dim() {
        return None;
    } else if let Some(affine) = as_type::<Affine>(first) {
        (affine.linear_params(), Some(affine.bias_params()))
    } else {
        (as_type::<Linear>(first).filter(|_| linear)?.linear_params(), None)
    };
    let joint = |linear2: &Matrix, bias2: &Matrix| {
        let (inner, copies) = (linear1.rows(), linear2.cols() / linear1.rows());
        let device = linear2.device();
        let mut linear = Matrix::zeros(device, linear2.rows(), copies * linear1.cols());
        for i in 0..copies {
            let block = linear.view_mut().col_range(i * linear1.cols()..(i + 1) * linear1.cols());
            let factor = linear2.view().col_range(i * inner..(i + 1) * inner);
            device.gemm(Gemm::set(block, factor, linear1.view()));
        }
        let Some(bias1) = bias1 else { return (linear, bias2.clone()) };
        let bias = affine_of_row(linear2, &or_zeros(bias2, linear2), &bias1.to_vec());
        (linear, bias)
    };
    if let Some(affine) = as_type::<Affine>(second) {
        let (linear, bias) = joint(affine.linear_params(), affine.bias_params());
        return Some(Box::new(Affine::new(UpdatableSettings::default(), linear, bias)));
    }
    if !linear {
        return None;
    }
    if let Some(second) = as_type::<Linear>(second) {
        let params = second.linear_params();
        let (linear, bias) = joint(params, &or_zeros(&Matrix::empty(), params));
        return Some(Box::new(Affine::new(UpdatableSettings::default(), linear, bias)));
    }
    let tdnn = as_type::<Tdnn>(second)?;
    let (linear, bias) = joint(tdnn.linear_params(), tdnn.bias_params());
    Some(Box::new(tdnn.with_params(linear, bias)))
}

/// The bias, or zeros for the outputs of `linear` if it is empty.
fn or_zeros(bias: &Matrix, linear: &Matrix) -> Matrix {
    if bias.is_empty() { Matrix::zeros(linear.device(), 1, linear.rows()) } else { bias.clone() }
}

/// x → s ⊙ (W x + b).
fn affine_then_scale(first: &dyn Component, second: &dyn Component) -> Option<Box<dyn Component>> {
    let (affine, scale) = (as_type::<Affine>(first)?, as_type::<FixedScale>(second)?);
    if affine.output_dim() != scale.input_dim() {
        return None;
    }
    let scales = scale.scales().to_vec();
    let linear = affine.linear_params();
    let device = linear.device();
    let mut scaled = linear.clone();
    device.scale_rows(scaled.view_mut(), Matrix::from_slice(device, scales.len(), 1, &scales).view());
    Some(Box::new(affine.with_params(scaled, scale_columns(affine.bias_params(), &scales))))
}

/// Column i times `scale[i mod its length]`.
fn scale_columns(matrix: &Matrix, scale: &[f32]) -> Matrix {
    let device = matrix.device();
    let tiled: Vec<f32> = scale.iter().copied().cycle().take(matrix.cols()).collect();
    let mut scaled = matrix.clone();
    device.scale_cols(scaled.view_mut(), Matrix::from_slice(device, 1, tiled.len(), &tiled).view());
    scaled
}

/// row · linearᵀ + bias; not as a product, since a program that only runs a network may have no other for which it
/// would load BLAS.
fn affine_of_row(linear: &Matrix, bias: &Matrix, row: &[f32]) -> Matrix {
    let terms = scale_columns(linear, row);
    let mut out = bias.to_device(linear.device());
    linear.device().row_sums(out.view_mut().reshape(linear.rows(), 1), 1.0, terms.view(), 1.0);
    out
}
