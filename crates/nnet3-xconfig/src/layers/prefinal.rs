//! The layer before the last one of chain models.

use crate::error::Problem;
use crate::layer::{Builder, Built, Default, INPUT, Layer, LayerType, key};

pub const TYPES: &[LayerType] = &[LayerType {
    name: "prefinal-layer",
    purpose: "Affine, relu and batch normalisation in a big dimension, then an orthonormal linear component and batch \
              normalisation in a small one.",
    keys: &[&[
        INPUT,
        key("big-dim", Default::RequiredInt, "inner dimension"),
        key("small-dim", Default::RequiredInt, "output dimension; less than big-dim"),
        key("l2-regularize", Default::Float(0.0), "of both matrices"),
        key("max-change", Default::Float(0.75), "of both matrices"),
        key("self-repair-scale", Default::Float(1e-5), "of the relu"),
    ]],
    example: "big-dim=1024 small-dim=192",
    build,
}];

fn build(layer: &mut Layer) -> Result<Built, Problem> {
    let small = layer.positive("small-dim")?;
    let big = layer.int("big-dim");
    layer.require(big > small, "big-dim", || format!("more than small-dim={small}"))?;
    let input = layer.input();
    let given = layer.given(&["l2-regularize", "max-change"]);
    let mut b = Builder::new(layer);
    let affine = format!("input-dim={} output-dim={big} {given}", input.dim);
    let node = b.stage("affine", "NaturalGradientAffineComponent", affine, input.expression);
    let relu = format!("dim={big} {}", layer.given(&["self-repair-scale"]));
    let node = b.stage("relu", "RectifiedLinearComponent", relu, node);
    let node = b.stage("batchnorm1", "BatchNormComponent", format!("dim={big}"), node);
    let linear = format!("input-dim={big} output-dim={small} {given} orthonormal-constraint=-1");
    let node = b.stage("linear", "LinearComponent", linear, node);
    let node = b.stage("batchnorm2", "BatchNormComponent", format!("dim={small}"), node);
    Ok(b.finish(node, small))
}
