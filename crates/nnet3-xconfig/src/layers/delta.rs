//! Delta features.

use crate::error::Problem;
use crate::layer::{Builder, Built, INPUT, Layer, LayerType};

pub const TYPES: &[LayerType] = &[LayerType {
    name: "delta-layer",
    purpose: "The input with its first and second differences over time, batch-normalised: three times the dimension.",
    keys: &[&[INPUT]],
    example: "",
    build,
}];

fn build(layer: &mut Layer) -> Result<Built, Problem> {
    let node = layer.input_node()?;
    let dim = layer.input().dim;
    let mut b = Builder::new(layer);
    // A node that is scaled in one term and not in another has to be two nodes.
    for copy in ["copy1", "copy2"] {
        b.line(format!("dim-range-node name={node}_{copy} input-node={node} dim={dim} dim-offset=0"));
    }
    let first = format!("Sum(Offset(Scale(-1.0,{node}_copy1),-1), Offset({node},1))");
    let second = format!("Sum(Offset({node},-2), Offset({node},2), Offset(Scale(-2.0,{node}_copy2),0))");
    b.line(format!("component name={node}_2 type=NoOpComponent dim={}", 3 * dim));
    b.line(format!(
        "component-node name={node}_2 component={node}_2 input=Append(Offset({node},0), {first}, {second})"
    ));
    let output = b.stage("", "BatchNormComponent", format!("dim={}", 3 * dim), format!("{node}_2"));
    Ok(b.finish(output, 3 * dim))
}
