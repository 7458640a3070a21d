//! SpecAugment: masks over frequency and time.

use crate::error::Problem;
use crate::layer::{Builder, Built, Default, INPUT, Layer, LayerType, Target, key};

pub const TYPES: &[LayerType] = &[LayerType {
    name: "spec-augment-layer",
    purpose: "Zeroes a random band of columns and random stretches of time in training.",
    keys: &[&[
        INPUT,
        key("freq-max-proportion", Default::Float(0.5), "largest proportion of columns; between 0 and 1"),
        key("time-zeroed-proportion", Default::Float(0.2), "proportion of frames; between 0 and 1"),
        key("time-mask-max-frames", Default::Int(20), "longest stretch of frames"),
        key("include-in-init", Default::Bool(false), "true if a fixed-affine-layer follows"),
    ]],
    example: "",
    build,
}];

fn build(layer: &mut Layer) -> Result<Built, Problem> {
    for key in ["freq-max-proportion", "time-zeroed-proportion"] {
        let value = layer.float(key);
        layer.require(value > 0.0 && value < 1.0, key, || "a number between 0 and 1".into())?;
    }
    layer.positive("time-mask-max-frames")?;
    let input = layer.input();
    let mut b = Builder::new(layer);
    if layer.flag("include-in-init") {
        b.target(Target::All);
    }
    let dim = format!("dim={}", input.dim);
    let frequency = format!("{dim} specaugment-max-proportion={}", layer.value("freq-max-proportion"));
    let node = b.stage("freq-mask", "GeneralDropoutComponent", frequency, input.expression);
    let (zeroed, frames) = (layer.value("time-zeroed-proportion"), layer.given(&["time-mask-max-frames"]));
    let time = format!("{dim} zeroed-proportion={zeroed} {frames}");
    let node = b.stage("time-mask", "SpecAugmentTimeMaskComponent", time, node);
    Ok(b.finish(node, input.dim))
}
