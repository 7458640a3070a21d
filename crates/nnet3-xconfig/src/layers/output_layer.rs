//! The last affine layer and the output.

use super::input_output::{OBJECTIVE, OUTPUT_DELAY, output_node};
use crate::error::Problem;
use crate::layer::{Builder, Built, Default, INPUT, Layer, LayerType, key};
use crate::value::float_text;

pub const TYPES: &[LayerType] = &[LayerType {
    name: "output-layer",
    purpose: "An affine component, a log-softmax and an output of the network. Layers may use its parts `affine` and \
              `log-softmax`.",
    keys: &[&[
        INPUT,
        key("dim", Default::Int(-1), "number of outputs; -1: that of the input"),
        key("bottleneck-dim", Default::Int(-1), "dimension of a linear component before; -1: none"),
        key("orthonormal-constraint", Default::Float(1.0), "of that linear component; positive"),
        key("include-log-softmax", Default::Bool(true), "false for chain models"),
        OBJECTIVE,
        OUTPUT_DELAY,
        key("ng-affine-options", Default::Text(""), "options of the affine component"),
        key("ng-linear-options", Default::Text(""), "options of the linear component"),
        key("learning-rate-factor", Default::Text(""), "of both"),
        key("l2-regularize", Default::Text(""), "of both"),
        key("max-change", Default::Float(1.5), "of both"),
        key("param-stddev", Default::Float(0.0), "of the affine component"),
        key("bias-stddev", Default::Float(0.0), "of the affine component"),
    ]],
    example: "dim=2000",
    build,
}];

fn build(layer: &mut Layer) -> Result<Built, Problem> {
    let dim = layer.dim_or_input("dim");
    let constraint = layer.float("orthonormal-constraint");
    layer.require(constraint > 0.0, "orthonormal-constraint", || "a positive number".into())?;

    let mut b = Builder::new(layer);
    let mut node = layer.input().expression;
    let mut cur = layer.input().dim;
    let bottleneck = layer.int("bottleneck-dim");
    if bottleneck >= 0 {
        let good = bottleneck > 0 && bottleneck < dim && bottleneck < cur;
        layer.require(good, "bottleneck-dim", || {
            format!("-1, or a positive integer smaller than the input dimension {cur} and the output dimension {dim}")
        })?;
        let stddev = float_text(constraint / (cur as f64).sqrt());
        let options = layer.text("ng-linear-options");
        let common = layer.given(&["learning-rate-factor", "l2-regularize", "max-change"]);
        let constraint = layer.value("orthonormal-constraint");
        let arguments = format!(
            "orthonormal-constraint={constraint} param-stddev={stddev} input-dim={cur} output-dim={bottleneck} \
             max-change=0.75 {options} {common}"
        );
        node = b.stage("linear", "LinearComponent", arguments, node);
        cur = bottleneck;
    }
    let options = layer.text("ng-affine-options");
    let given =
        layer.given(&["learning-rate-factor", "l2-regularize", "max-change", "param-stddev", "bias-stddev"]);
    let arguments = format!("input-dim={cur} output-dim={dim} {options} {given}");
    node = b.stage("affine", "NaturalGradientAffineComponent", arguments, node);
    b.auxiliary("affine", "affine", dim);
    if layer.flag("include-log-softmax") {
        node = b.stage("log-softmax", "LogSoftmaxComponent", format!("dim={dim}"), node);
        b.auxiliary("log-softmax", "log-softmax", dim);
    }
    output_node(layer, &mut b, node)?;
    Ok(b.finish_output())
}
