//! Factorised TDNN layers with bypass.

use crate::error::Problem;
use crate::layer::{Builder, Built, Default, INPUT, Layer, LayerType, key};

pub const TYPES: &[LayerType] = &[LayerType {
    name: "tdnnf-layer",
    purpose: "A TDNN layer whose matrix is a product of two, the first one orthonormal (Povey et al., Interspeech \
              2018); with relu, batch normalisation, dropout, and the scaled input added to the result.",
    keys: &[&[
        INPUT,
        key("dim", Default::RequiredInt, "output dimension"),
        key("bottleneck-dim", Default::RequiredInt, "inner dimension; less than dim"),
        key("bypass-scale", Default::Float(0.66), "of the input in the result, -1 to 1; 0: no bypass"),
        key("dropout-proportion", Default::Float(-1.0), "of dropout, less than 1; -1: no dropout component"),
        key("time-stride", Default::Int(1), "time offset of both parts; 0: no context"),
        key("l2-regularize", Default::Float(0.0), "of both parts"),
        key("max-change", Default::Float(0.75), "of both parts"),
        key("self-repair-scale", Default::Float(1e-5), "of the relu"),
        key(
            "context",
            Default::Text("default"),
            "default (left, then right), left-only (left, then none), \
            shift-left (left twice) or none",
        ),
    ]],
    example: "dim=40 bottleneck-dim=16 time-stride=3",
    build,
}];

fn build(layer: &mut Layer) -> Result<Built, Problem> {
    let bottleneck = layer.positive("bottleneck-dim")?;
    let dim = layer.int("dim");
    layer.require(dim > bottleneck, "dim", || format!("more than bottleneck-dim={bottleneck}"))?;
    let dropout = layer.optional_dropout()?;
    layer.require(dropout.is_none_or(|p| p < 1.0), "dropout-proportion", || "less than 1".into())?;
    let bypass = layer.float("bypass-scale");
    layer.require(bypass.abs() <= 1.0, "bypass-scale", || "a number from -1 to 1".into())?;
    let input = layer.input();
    layer.require(bypass == 0.0 || dim == input.dim, "bypass-scale", || {
        format!("0, as dim={dim} differs from the input dimension {}", input.dim)
    })?;
    let (offsets1, offsets2) = time_offsets(layer)?;

    let mut b = Builder::new(layer);
    let given = layer.given(&["l2-regularize", "max-change"]);
    let linear = format!(
        "input-dim={} output-dim={bottleneck} {given} use-bias=false time-offsets={offsets1} \
         orthonormal-constraint=-1.0",
        input.dim
    );
    let node = b.stage("linear", "TdnnComponent", linear, &input.expression);
    let affine = format!("input-dim={bottleneck} output-dim={dim} {given} time-offsets={offsets2}");
    let node = b.stage("affine", "TdnnComponent", affine, node);
    let relu = format!("dim={dim} {}", layer.given(&["self-repair-scale"]));
    let node = b.stage("relu", "RectifiedLinearComponent", relu, node);
    let mut node = b.stage("batchnorm", "BatchNormComponent", format!("dim={dim}"), node);
    if dropout.is_some() {
        let arguments = format!("dim={dim} {} continuous=true", layer.given(&["dropout-proportion"]));
        node = b.stage("dropout", "GeneralDropoutComponent", arguments, node);
    }
    if bypass != 0.0 {
        let sum = format!("Sum(Scale({}, {}), {node})", layer.value("bypass-scale"), input.expression);
        node = b.stage("noop", "NoOpComponent", format!("dim={dim}"), sum);
    }
    Ok(b.finish(node, dim))
}

/// Returns the time offsets of the linear and of the affine part.
fn time_offsets(layer: &Layer) -> Result<(String, String), Problem> {
    let stride = layer.int("time-stride");
    let left = format!("{},0", stride.wrapping_neg());
    let offsets = match layer.text("context") {
        "default" => (left, format!("0,{stride}")),
        "left-only" => (left, "0".into()),
        "shift-left" => (left.clone(), left),
        "none" => ("0".into(), "0".into()),
        _ => return Err(layer.bad("context", "default, left-only, shift-left or none")),
    };
    Ok(if stride == 0 { ("0".into(), "0".into()) } else { offsets })
}
