//! The average of blocks of columns.

use crate::error::Problem;
use crate::layer::{Builder, Built, Default, INPUT, Layer, LayerType, key};
use crate::value::float_text;

pub const TYPES: &[LayerType] = &[LayerType {
    name: "channel-average-layer",
    purpose: "The average of blocks of columns.",
    keys: &[&[INPUT, key("dim", Default::RequiredInt, "of a block; divides the input dimension")]],
    example: "dim=8",
    build,
}];

fn build(layer: &mut Layer) -> Result<Built, Problem> {
    let dim = layer.positive("dim")?;
    let input = layer.input();
    layer
        .require(input.dim % dim == 0, "dim", || format!("a divisor of the input dimension {}", input.dim))?;
    let scale = float_text(dim as f64 / input.dim as f64);
    let arguments = format!("input-dim={} output-dim={dim} scale={scale}", input.dim);
    let mut b = Builder::new(layer);
    let node = b.stage("", "SumBlockComponent", arguments, input.expression);
    Ok(b.finish(node, dim))
}
