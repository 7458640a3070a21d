//! Inputs, and outputs without parameters.

use crate::error::Problem;
use crate::layer::{Builder, Built, Default, INPUT, Key, Layer, LayerType, Target, key};

pub const TYPES: &[LayerType] = &[
    LayerType {
        name: "input",
        purpose: "An input of the network.",
        keys: &[&[key("dim", Default::RequiredInt, "number of columns")]],
        example: "dim=40",
        build: input,
    },
    LayerType {
        name: "output",
        purpose: "An output of the network without parameters of its own.",
        keys: &[&[
            INPUT,
            key("dim", Default::Int(-1), "not used; the dimension is the input's"),
            OBJECTIVE,
            OUTPUT_DELAY,
        ]],
        example: "objective-type=quadratic",
        build: output,
    },
];

pub(super) const OBJECTIVE: Key =
    key("objective-type", Default::Text("linear"), "linear (log-likelihood) or quadratic (squared error)");
pub(super) const OUTPUT_DELAY: Key = key(
    "output-delay",
    Default::Int(0),
    "frames by which outputs are late: frame t is computed from t + delay",
);

fn input(layer: &mut Layer) -> Result<Built, Problem> {
    let dim = layer.positive("dim")?;
    let mut b = Builder::new(layer);
    b.target(Target::All);
    b.line(format!("input-node name={} dim={dim}", layer.name));
    Ok(b.finish(layer.name.clone(), dim))
}

fn output(layer: &mut Layer) -> Result<Built, Problem> {
    layer.dim_or_input("dim");
    let mut b = Builder::new(layer);
    output_node(layer, &mut b, layer.input().expression)?;
    Ok(b.finish_output())
}

/// The output node of a layer with the keys [`OBJECTIVE`] and [`OUTPUT_DELAY`].
pub(super) fn output_node(layer: &Layer, b: &mut Builder, source: String) -> Result<(), Problem> {
    let objective = layer.text("objective-type");
    let good = matches!(objective, "linear" | "quadratic");
    layer.require(good, "objective-type", || "linear or quadratic".into())?;
    let source = match layer.int("output-delay") {
        0 => source,
        delay => format!("Offset({source}, {delay})"),
    };
    b.line(format!("output-node name={} input={source} objective={objective}", layer.name));
    Ok(())
}
