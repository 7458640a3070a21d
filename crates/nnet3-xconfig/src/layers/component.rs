//! Layers that are a single component, or a range of columns.

use crate::error::Problem;
use crate::layer::{Builder, Built, Default, INPUT, Key, Layer, LayerType, Target, key};

const DIM: Key = key("dim", Default::Int(-1), "output dimension; -1: that of the input");
const TARGET_RMS: Key = key("target-rms", Default::Float(1.0), "root-mean-square of the output; positive");
const MAX_CHANGE: Key = key("max-change", Default::Float(0.75), "limit on the change by a minibatch");
const L2: Key = key("l2-regularize", Default::Text(""), "l2 constant");
const RATE_FACTOR: Key = key("learning-rate-factor", Default::Text(""), "multiplies learning rates");
const CONSTRAINT: Key = key(
    "orthonormal-constraint",
    Default::Text(""),
    "scale of orthonormal rows; negative: any scale; 0: none",
);
const PARAM_MEAN: Key = key("param-mean", Default::Text(""), "mean of initial parameters");
const PARAM_STDDEV: Key = key("param-stddev", Default::Text(""), "standard deviation of initial parameters");
const BIAS_STDDEV: Key = key("bias-stddev", Default::Text(""), "standard deviation of initial biases");

pub const TYPES: &[LayerType] = &[
    LayerType {
        name: "renorm-component",
        purpose: "A NormalizeComponent.",
        keys: &[&[INPUT, TARGET_RMS]],
        example: "",
        build: renorm,
    },
    LayerType {
        name: "batchnorm-component",
        purpose: "A BatchNormComponent.",
        keys: &[&[
            INPUT,
            TARGET_RMS,
            key("include-in-init", Default::Bool(false), "true if a fixed-affine-layer follows"),
        ]],
        example: "",
        build: batchnorm,
    },
    LayerType {
        name: "no-op-component",
        purpose: "A NoOpComponent: an expression that several layers use is computed once.",
        keys: &[&[INPUT]],
        example: "input=Append(-1,0,1)",
        build: no_op,
    },
    LayerType {
        name: "linear-component",
        purpose: "A LinearComponent.",
        keys: &[&[INPUT, DIM, CONSTRAINT, MAX_CHANGE, L2, PARAM_STDDEV, RATE_FACTOR]],
        example: "dim=256 orthonormal-constraint=-1.0",
        build: linear,
    },
    LayerType {
        name: "affine-component",
        purpose: "A NaturalGradientAffineComponent.",
        keys: &[&[INPUT, DIM, CONSTRAINT, MAX_CHANGE, PARAM_STDDEV, BIAS_STDDEV, L2]],
        example: "dim=256",
        build: affine,
    },
    LayerType {
        name: "scale-component",
        purpose: "A NaturalGradientPerElementScaleComponent.",
        keys: &[&[INPUT, L2, MAX_CHANGE, PARAM_MEAN, PARAM_STDDEV, RATE_FACTOR]],
        example: "",
        build: scale,
    },
    LayerType {
        name: "offset-component",
        purpose: "A PerElementOffsetComponent.",
        keys: &[&[INPUT, L2, MAX_CHANGE, PARAM_MEAN, PARAM_STDDEV, RATE_FACTOR]],
        example: "",
        build: offset,
    },
    LayerType {
        name: "dim-range-component",
        purpose: "A range of the columns of a layer.",
        keys: &[&[INPUT, DIM, key("dim-offset", Default::Int(0), "the first column")]],
        example: "dim=20 dim-offset=10",
        build: dim_range,
    },
];

fn single(layer: &Layer, target: Target, component_type: &str, arguments: String, dim: i64) -> Built {
    let mut b = Builder::new(layer);
    b.target(target);
    let node = b.stage("", component_type, arguments, layer.input().expression);
    b.finish(node, dim)
}

/// A component with as many columns as its input.
fn same_dim(layer: &Layer, target: Target, component_type: &str, options: String) -> Built {
    let dim = layer.input().dim;
    single(layer, target, component_type, format!("dim={dim} {options}"), dim)
}

fn target_rms(layer: &Layer) -> Result<String, Problem> {
    layer.require(layer.float("target-rms") > 0.0, "target-rms", || "a positive number".into())?;
    Ok(layer.given(&["target-rms"]))
}

fn renorm(layer: &mut Layer) -> Result<Built, Problem> {
    Ok(same_dim(layer, Target::Network, "NormalizeComponent", target_rms(layer)?))
}

fn batchnorm(layer: &mut Layer) -> Result<Built, Problem> {
    let target = if layer.flag("include-in-init") { Target::All } else { Target::Network };
    Ok(same_dim(layer, target, "BatchNormComponent", target_rms(layer)?))
}

fn no_op(layer: &mut Layer) -> Result<Built, Problem> {
    Ok(same_dim(layer, Target::Network, "NoOpComponent", String::new()))
}

fn linear(layer: &mut Layer) -> Result<Built, Problem> {
    const ORDER: &[&str] =
        &["orthonormal-constraint", "max-change", "l2-regularize", "param-stddev", "learning-rate-factor"];
    Ok(matrix(layer, "LinearComponent", ORDER))
}

fn affine(layer: &mut Layer) -> Result<Built, Problem> {
    const ORDER: &[&str] =
        &["orthonormal-constraint", "max-change", "l2-regularize", "param-stddev", "bias-stddev"];
    Ok(matrix(layer, "NaturalGradientAffineComponent", ORDER))
}

fn matrix(layer: &mut Layer, component_type: &str, order: &[&str]) -> Built {
    let dim = layer.dim_or_input("dim");
    let arguments = format!("input-dim={} output-dim={dim} {}", layer.input().dim, layer.given(order));
    single(layer, Target::Network, component_type, arguments, dim)
}

fn scale(layer: &mut Layer) -> Result<Built, Problem> {
    Ok(per_element(layer, "NaturalGradientPerElementScaleComponent"))
}

fn offset(layer: &mut Layer) -> Result<Built, Problem> {
    Ok(per_element(layer, "PerElementOffsetComponent"))
}

fn per_element(layer: &Layer, component_type: &str) -> Built {
    let options =
        layer.given(&["learning-rate-factor", "max-change", "l2-regularize", "param-mean", "param-stddev"]);
    same_dim(layer, Target::Network, component_type, options)
}

fn dim_range(layer: &mut Layer) -> Result<Built, Problem> {
    let dim = layer.dim_or_input("dim");
    let node = layer.input_node()?;
    let (first, input) = (layer.not_negative("dim-offset")?, layer.input().dim);
    layer.require(dim <= input, "dim", || format!("at most the input dimension {input}"))?;
    layer.require(first <= input - dim, "dim-offset", || {
        format!("at most {}, the input dimension {input} less dim={dim}", input - dim)
    })?;
    let mut b = Builder::new(layer);
    b.line(format!("dim-range-node name={} input-node={node} dim={dim} dim-offset={first}", layer.name));
    Ok(b.finish(layer.name.clone(), dim))
}
