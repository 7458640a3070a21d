//! A single affine component with initial parameters away from zero.

use crate::error::Problem;
use crate::layer::{Builder, Built, Default, INPUT, Layer, LayerType, key};
use crate::value::Value;

pub const TYPES: &[LayerType] = &[LayerType {
    name: "affine-layer",
    purpose: "An affine component.",
    keys: &[&[
        INPUT,
        key("dim", Default::Int(-1), "output dimension; -1: that of the input"),
        key(
            "param-stddev",
            Default::Float(-1.0),
            "standard deviation of initial weights; negative: 1 / sqrt(input dimension)",
        ),
        key("bias-stddev", Default::Float(1.0), "standard deviation of initial biases"),
        key("bias-mean", Default::Float(0.0), "mean of initial biases"),
        key("max-change", Default::Float(0.75), "limit on the change by a minibatch"),
        key("l2-regularize", Default::Float(0.0), "l2 constant"),
        key("learning-rate-factor", Default::Float(1.0), "multiplies learning rates; written unless 1"),
        key("ng-affine-options", Default::Text(""), "further options of the component"),
    ]],
    example: "dim=512",
    build,
}];

fn build(layer: &mut Layer) -> Result<Built, Problem> {
    let dim = layer.dim_or_input("dim");
    let input = layer.input();
    if layer.float("param-stddev") < 0.0 {
        layer.set("param-stddev", Value::Float(1.0 / (input.dim as f64).sqrt()));
    }
    let given = layer.given(&["param-stddev", "bias-stddev", "bias-mean", "max-change", "l2-regularize"]);
    let (factor, options) = (layer.unless("learning-rate-factor", 1.0), layer.text("ng-affine-options"));
    let arguments = format!("input-dim={} output-dim={dim} {given} {factor} {options}", input.dim);
    let mut b = Builder::new(layer);
    let node = b.stage("", "NaturalGradientAffineComponent", arguments, input.expression);
    Ok(b.finish(node, dim))
}
