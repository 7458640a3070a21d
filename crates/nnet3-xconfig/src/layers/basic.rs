//! An affine component, then nonlinearities and normalisation in the order of the words of the layer type.

use crate::error::Problem;
use crate::layer::{Builder, Built, Default, INPUT, Key, Layer, LayerType, key};

const KEYS: &[&[Key]] = &[&[
    INPUT,
    key("dim", Default::Int(-1), "output dimension; -1: that of the input"),
    key("bottleneck-dim", Default::Int(-1), "dimension of an orthonormal linear component before; -1: none"),
    key("self-repair-scale", Default::Float(1e-5), "of relu, sigmoid, tanh"),
    key("target-rms", Default::Float(1.0), "of renorm and batchnorm"),
    key("ng-affine-options", Default::Text(""), "options of the affine component"),
    key("ng-linear-options", Default::Text(""), "options of the linear component"),
    key("dropout-proportion", Default::Float(0.5), "of dropout"),
    key("dropout-per-dim", Default::Bool(false), "one dropout mask for all times"),
    key(
        "dropout-per-dim-continuous",
        Default::Bool(false),
        "the same, with factors that are not only 0 and 1",
    ),
    key("add-log-stddev", Default::Bool(false), "the last renorm adds a column, within dim"),
    key("bias-stddev", Default::Text(""), "of the affine component"),
    key("l2-regularize", Default::Text(""), "of the affine component"),
    key("learning-rate-factor", Default::Text(""), "of the affine and the linear component"),
    key("max-change", Default::Float(0.75), "of the affine and the linear component"),
]];

const fn basic(name: &'static str, purpose: &'static str) -> LayerType {
    LayerType { name, purpose, keys: KEYS, example: "input=Append(-1,0,1) dim=512", build }
}

pub const TYPES: &[LayerType] = &[
    basic("relu-layer", "Affine, rectified linear."),
    basic("relu-renorm-layer", "Affine, rectified linear, normalisation of each row."),
    basic("relu-batchnorm-layer", "Affine, rectified linear, batch normalisation."),
    basic("relu-batchnorm-dropout-layer", "Affine, rectified linear, batch normalisation, dropout."),
    basic("relu-dropout-layer", "Affine, rectified linear, dropout."),
    basic(
        "relu-batchnorm-so-layer",
        "Affine, rectified linear, batch normalisation, trainable scale and offset.",
    ),
    basic(
        "batchnorm-so-relu-layer",
        "Affine, batch normalisation, trainable scale and offset, rectified linear.",
    ),
    basic("batchnorm-layer", "Affine, batch normalisation."),
    basic("sigmoid-layer", "Affine, sigmoid."),
    basic("tanh-layer", "Affine, hyperbolic tangent."),
];

fn build(layer: &mut Layer) -> Result<Built, Problem> {
    layer.dim_or_input("dim");
    layer.proportion("self-repair-scale")?;
    layer.require(layer.float("target-rms") >= 0.0, "target-rms", || "0 or a positive number".into())?;
    let factor = layer.text("learning-rate-factor");
    let good = factor.is_empty() || factor.parse().is_ok_and(|factor: f64| factor > 0.0);
    layer.require(good, "learning-rate-factor", || "a positive number".into())?;

    let mut b = Builder::new(layer);
    let dim = inner_dim(layer)?;
    let (node, cur) = bottleneck(layer, &mut b)?;
    let options = layer.text("ng-affine-options");
    let given = layer.given(&["max-change", "learning-rate-factor", "bias-stddev", "l2-regularize"]);
    let arguments = format!("input-dim={cur} output-dim={dim} {options} {given}");
    let mut node = b.stage("affine", "NaturalGradientAffineComponent", arguments, node);

    let words = layer.words();
    let (repair, rms) = (layer.given(&["self-repair-scale"]), layer.given(&["target-rms"]));
    for (index, word) in words.iter().enumerate() {
        let (component_type, arguments) = match *word {
            "relu" => ("RectifiedLinearComponent", repair.clone()),
            "sigmoid" => ("SigmoidComponent", repair.clone()),
            "tanh" => ("TanhComponent", repair.clone()),
            "renorm" => {
                let add = layer.flag("add-log-stddev") && index + 1 == words.len();
                ("NormalizeComponent", format!("{rms} add-log-stddev={add}"))
            }
            "batchnorm" => ("BatchNormComponent", rms.clone()),
            "so" => ("ScaleAndOffsetComponent", "max-change=0.5".into()),
            "dropout" => dropout(layer),
            other => unreachable!("the word {other} of a layer type"),
        };
        node = b.stage(word, component_type, format!("dim={dim} {arguments}"), node);
    }
    Ok(b.finish(node, layer.int("dim")))
}

/// The dimension before a last renorm that adds a column.
fn inner_dim(layer: &Layer) -> Result<i64, Problem> {
    let dim = layer.int("dim");
    if !layer.flag("add-log-stddev") {
        return Ok(dim);
    }
    let ends_in_renorm = layer.words().last() == Some(&"renorm");
    layer
        .require(ends_in_renorm, "add-log-stddev", || "false, as the layer does not end in renorm".into())?;
    layer.require(dim > 1, "dim", || "more than 1, as add-log-stddev takes one".into())?;
    Ok(dim - 1)
}

/// Returns the input of the affine component, and its dimension.
fn bottleneck(layer: &Layer, b: &mut Builder) -> Result<(String, i64), Problem> {
    let input = layer.input();
    let (bottleneck, dim) = (layer.int("bottleneck-dim"), layer.int("dim"));
    if bottleneck < 0 {
        return Ok((input.expression, input.dim));
    }
    let good = bottleneck > 0 && bottleneck < dim;
    layer.require(good, "bottleneck-dim", || format!("-1, or a positive integer smaller than dim={dim}"))?;
    let options = layer.text("ng-linear-options");
    let given = layer.given(&["max-change", "learning-rate-factor"]);
    let arguments = format!(
        "input-dim={} orthonormal-constraint=1.0 output-dim={bottleneck} {options} {given}",
        input.dim
    );
    Ok((b.stage("linear", "LinearComponent", arguments, input.expression), bottleneck))
}

fn dropout(layer: &Layer) -> (&'static str, String) {
    let proportion = layer.given(&["dropout-proportion"]);
    match (layer.flag("dropout-per-dim"), layer.flag("dropout-per-dim-continuous")) {
        (false, false) => ("DropoutComponent", proportion),
        (true, false) => ("GeneralDropoutComponent", proportion),
        (_, true) => ("GeneralDropoutComponent", format!("{proportion} continuous=true")),
    }
}
