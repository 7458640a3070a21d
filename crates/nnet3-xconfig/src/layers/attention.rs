//! Self-attention over a window of times.

use crate::error::Problem;
use crate::layer::{Builder, Built, Default, INPUT, Key, Layer, LayerType, key};
use crate::value::Value;

const KEYS: &[&[Key]] = &[&[
    INPUT,
    key("dim", Default::Int(-1), "not used; the dimensions follow from the keys below"),
    key("value-dim", Default::RequiredInt, "of values, for each head"),
    key("key-dim", Default::RequiredInt, "of keys and queries, for each head"),
    key("num-left-inputs", Default::RequiredInt, "times to the left, in steps of time-stride"),
    key("num-right-inputs", Default::RequiredInt, "times to the right"),
    key("num-left-inputs-required", Default::Int(-1), "of those to the left; -1: all"),
    key("num-right-inputs-required", Default::Int(-1), "of those to the right; -1: all"),
    key("num-heads", Default::Int(1), "number of heads"),
    key("time-stride", Default::Int(1), "frames between the times"),
    key("output-context", Default::Bool(true), "whether the attention weights are in the output"),
    key("key-scale", Default::Float(0.0), "of keys in products with queries; 0: 1 / sqrt(key-dim)"),
    key("max-change", Default::Float(0.75), "of the affine component"),
    key("l2-regularize", Default::Float(0.0), "of the affine component"),
    key("learning-rate-factor", Default::Float(1.0), "of the affine component"),
    key("ng-affine-options", Default::Text(""), "of the affine component"),
    key("self-repair-scale", Default::Float(1e-5), "of the relu"),
    key("target-rms", Default::Float(1.0), "of renorm and batchnorm"),
    key("dropout-proportion", Default::Float(0.5), "not used: no type with attention has dropout"),
]];

const fn attention(name: &'static str, purpose: &'static str) -> LayerType {
    LayerType {
        name,
        purpose,
        keys: KEYS,
        example: "num-heads=12 value-dim=60 key-dim=40 num-left-inputs=5 num-right-inputs=2 time-stride=3",
        build,
    }
}

pub const TYPES: &[LayerType] = &[
    attention("attention-renorm-layer", "Affine, attention, normalisation of each row."),
    attention(
        "attention-relu-renorm-layer",
        "Affine, attention, rectified linear, normalisation of each row.",
    ),
    attention("attention-relu-batchnorm-layer", "Affine, attention, rectified linear, batch normalisation."),
    attention(
        "relu-renorm-attention-layer",
        "Affine, rectified linear, normalisation of each row, attention.",
    ),
];

fn build(layer: &mut Layer) -> Result<Built, Problem> {
    layer.dim_or_input("dim");
    layer.proportion("self-repair-scale")?;
    layer.require(layer.float("target-rms") >= 0.0, "target-rms", || "0 or a positive number".into())?;
    layer.require(layer.float("learning-rate-factor") > 0.0, "learning-rate-factor", || {
        "a positive number".into()
    })?;
    let (key, value, heads) =
        (layer.positive("key-dim")?, layer.positive("value-dim")?, layer.positive("num-heads")?);
    let context = layer.not_negative("num-left-inputs")? + layer.not_negative("num-right-inputs")? + 1;
    if layer.float("key-scale") == 0.0 {
        layer.set("key-scale", Value::Float(1.0 / (key as f64).sqrt()));
    }
    let output_dim = heads * (value + if layer.flag("output-context") { context } else { 0 });
    let mut dim = heads * (2 * key + value + context);

    let input = layer.input();
    let mut b = Builder::new(layer);
    let affine = format!(
        "input-dim={} output-dim={dim} {} {} {} {}",
        input.dim,
        layer.given(&["max-change"]),
        layer.text("ng-affine-options"),
        layer.unless("learning-rate-factor", 1.0),
        layer.unless("l2-regularize", 0.0)
    );
    let mut node = b.stage("affine", "NaturalGradientAffineComponent", affine, input.expression);
    for word in layer.words() {
        let rms = || format!("dim={dim} {}", layer.given(&["target-rms"]));
        let (component_type, arguments) = match word {
            "attention" => ("RestrictedAttentionComponent", layer.given(ATTENTION)),
            "relu" => {
                ("RectifiedLinearComponent", format!("dim={dim} {}", layer.given(&["self-repair-scale"])))
            }
            "renorm" => ("NormalizeComponent", rms()),
            "batchnorm" => ("BatchNormComponent", rms()),
            other => unreachable!("the word {other} of a layer type"),
        };
        if word == "attention" {
            dim = output_dim;
        }
        node = b.stage(word, component_type, arguments, node);
    }
    Ok(b.finish(node, output_dim))
}

const ATTENTION: &[&str] = &[
    "value-dim",
    "key-dim",
    "num-left-inputs",
    "num-right-inputs",
    "num-left-inputs-required",
    "num-right-inputs-required",
    "output-context",
    "time-stride",
    "num-heads",
    "key-scale",
];
