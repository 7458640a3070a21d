//! Convolution over time and height, with nonlinearities and normalisation in the order of the words of the layer type.

use crate::error::Problem;
use crate::layer::{Builder, Built, Default, INPUT, Key, Layer, LayerType, key};
use crate::value::Value;

/// Keys that convolution components take unchanged. If the value is empty, the key is left out of config lines.
pub(super) const PASSED_ON: &[Key] = &[
    key("param-stddev", Default::Text(""), "standard deviation of initial weights"),
    key("bias-stddev", Default::Text(""), "standard deviation of initial biases"),
    key("max-change", Default::Float(0.75), "limit on the change by a minibatch"),
    key("use-natural-gradient", Default::Text(""), "of the convolution"),
    key("rank-in", Default::Text(""), "of natural gradient, input side"),
    key("rank-out", Default::Text(""), "of natural gradient, output side"),
    key("num-minibatches-history", Default::Text(""), "of natural gradient"),
    key("alpha-in", Default::Text(""), "of natural gradient, input side"),
    key("alpha-out", Default::Text(""), "of natural gradient, output side"),
    key("l2-regularize", Default::Text(""), "l2 constant"),
];

const OWN: &[Key] = &[
    INPUT,
    key("height-in", Default::RequiredInt, "height of the input; divides its dimension"),
    key("height-out", Default::RequiredInt, "height of the output"),
    key("height-subsample-out", Default::Int(1), "step in height from output to output"),
    key("num-filters-out", Default::RequiredInt, "number of filters"),
    key("height-offsets", Default::Text(""), "such as -1,0,1; required unless noconv"),
    key("time-offsets", Default::Text(""), "such as -1,0,1; required unless noconv"),
    key("required-time-offsets", Default::Text(""), "those that may not be missing; all if empty"),
    key("learning-rate-factor", Default::Text(""), "multiplies learning rates"),
    key("target-rms", Default::Float(1.0), "of batchnorm and renorm; positive"),
    key("self-repair-scale", Default::Float(2e-5), "of relu"),
    key("self-repair-lower-threshold", Default::Float(0.05), "of relu"),
    key("dropout-proportion", Default::Float(0.5), "of dropout"),
];

const fn conv(name: &'static str, purpose: &'static str) -> LayerType {
    LayerType {
        name,
        purpose,
        keys: &[OWN, PASSED_ON],
        example: "height-in=40 height-out=20 height-subsample-out=2 num-filters-out=64 height-offsets=-1,0,1 \
                  time-offsets=-1,0,1",
        build,
    }
}

const fn no_conv(name: &'static str, purpose: &'static str) -> LayerType {
    LayerType {
        name,
        purpose,
        keys: &[OWN, PASSED_ON],
        example: "height-in=40 height-out=40 num-filters-out=1",
        build,
    }
}

pub const TYPES: &[LayerType] = &[
    conv("conv-layer", "Convolution."),
    conv("conv-relu-layer", "Convolution, rectified linear."),
    conv("conv-renorm-layer", "Convolution, normalisation of each row."),
    conv("conv-relu-renorm-layer", "Convolution, rectified linear, normalisation of each row."),
    conv("conv-relu-batchnorm-layer", "Convolution, rectified linear, batch normalisation of each filter."),
    conv(
        "conv-relu-batchnorm-so-layer",
        "Convolution, rectified linear, batch normalisation of each filter, trainable scale and offset.",
    ),
    conv("conv-relu-batchnorm-dropout-layer", "Convolution, rectified linear, batch normalisation, dropout."),
    conv("conv-relu-dropout-layer", "Convolution, rectified linear, dropout."),
    conv("relu-conv-layer", "Rectified linear, convolution."),
    conv("relu-conv-renorm-layer", "Rectified linear, convolution, normalisation of each row."),
    conv("batchnorm-conv-layer", "Batch normalisation, convolution."),
    conv("batchnorm-conv-relu-layer", "Batch normalisation, convolution, rectified linear."),
    conv("relu-batchnorm-conv-layer", "Rectified linear, batch normalisation, convolution."),
    no_conv(
        "relu-batchnorm-noconv-layer",
        "Rectified linear, batch normalisation of each filter; no convolution.",
    ),
    no_conv("relu-noconv-layer", "Rectified linear; no convolution."),
];

fn build(layer: &mut Layer) -> Result<Built, Problem> {
    let input = layer.input();
    let height_in = layer.positive("height-in")?;
    layer.require(input.dim % height_in == 0, "height-in", || {
        format!("a divisor of the input dimension {}", input.dim)
    })?;
    layer.set("num-filters-in", Value::Int(input.dim / height_in));
    check(layer)?;

    let mut b = Builder::new(layer);
    let (mut height, mut filters) = (height_in, layer.int("num-filters-in"));
    let mut node = input.expression;
    let rms = layer.given(&["target-rms"]);
    for word in layer.words() {
        let dim = height * filters;
        let blocks = format!("dim={dim} block-dim={filters}");
        let (component_type, arguments) = match word {
            "conv" => ("TimeHeightConvolutionComponent", layer.given(CONVOLUTION)),
            "batchnorm" => ("BatchNormComponent", format!("{blocks} {rms}")),
            "renorm" => ("NormalizeComponent", format!("dim={dim} {rms}")),
            "relu" => {
                let repair = layer.given(&["self-repair-scale", "self-repair-lower-threshold"]);
                ("RectifiedLinearComponent", format!("{blocks} {repair}"))
            }
            "dropout" => ("DropoutComponent", format!("dim={dim} {}", layer.given(&["dropout-proportion"]))),
            "so" => ("ScaleAndOffsetComponent", blocks),
            "noconv" => continue,
            other => unreachable!("the word {other} of a layer type"),
        };
        if word == "conv" {
            (height, filters) = (layer.int("height-out"), layer.int("num-filters-out"));
        }
        node = b.stage(word, component_type, arguments, node);
    }
    Ok(b.finish(node, layer.int("height-out") * layer.int("num-filters-out")))
}

const CONVOLUTION: &[&str] = &[
    "param-stddev",
    "bias-stddev",
    "use-natural-gradient",
    "max-change",
    "rank-in",
    "rank-out",
    "num-minibatches-history",
    "alpha-in",
    "alpha-out",
    "num-filters-in",
    "num-filters-out",
    "height-in",
    "height-out",
    "height-subsample-out",
    "height-offsets",
    "time-offsets",
    "required-time-offsets",
    "learning-rate-factor",
    "l2-regularize",
];

fn check(layer: &Layer) -> Result<(), Problem> {
    let (height_in, height_out) = (layer.int("height-in"), layer.positive("height-out")?);
    let covered = height_out * layer.positive("height-subsample-out")?;
    layer.positive("num-filters-out")?;
    layer.require(covered <= height_in, "height-out", || {
        format!(
            "at most height-in={height_in} divided by height-subsample-out={}",
            layer.int("height-subsample-out")
        )
    })?;
    let offsets = layer.text("height-offsets").split(',').count() as i64;
    layer.require(covered >= height_in - offsets, "height-out", || {
        format!("more: height-in={height_in} leaves more than {offsets} rows unused")
    })?;
    if !layer.words().contains(&"noconv") {
        for key in ["height-offsets", "time-offsets", "required-time-offsets"] {
            let text = layer.text(key);
            let optional = key == "required-time-offsets" && text.is_empty();
            layer.require(optional || ascending(text), key, || "ascending integers such as -1,0,1".into())?;
        }
    }
    layer.require(layer.float("target-rms") > 0.0, "target-rms", || "a positive number".into())
}

fn ascending(text: &str) -> bool {
    let numbers: Option<Vec<i64>> = text.split(',').map(|n| n.trim().parse().ok()).collect();
    numbers.is_some_and(|numbers| numbers.is_sorted_by(|a, b| a < b))
}
