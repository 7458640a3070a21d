//! A fixed affine transform, such as LDA.

use crate::error::Problem;
use crate::layer::{Builder, Built, Default, INPUT, Layer, LayerType, Target, key};

pub const TYPES: &[LayerType] = &[LayerType {
    name: "fixed-affine-layer",
    purpose: "An affine transform read from a file, which need not exist before `final.config` is used. Its input is \
              the output of `init.config`, for statistics to compute the transform from.",
    keys: &[&[
        INPUT,
        key("dim", Default::Int(-1), "output dimension; -1: that of the input"),
        key("affine-transform-file", Default::RequiredText, "the matrix, with the bias as last column"),
        key("delay", Default::Int(0), "delay of the output of init.config, for labels that are late"),
        key("write-init-config", Default::Bool(true), "whether there is an init.config"),
    ]],
    example: "input=Append(-1,0,1) affine-transform-file=configs/lda.mat",
    build,
}];

fn build(layer: &mut Layer) -> Result<Built, Problem> {
    let dim = layer.dim_or_input("dim");
    let input = layer.input();
    let mut b = Builder::new(layer);
    if layer.flag("write-init-config") {
        b.target(Target::Init);
        let source = match layer.int("delay") {
            0 => input.expression.clone(),
            delay => {
                let dim = format!("dim={}", input.dim);
                let node = b.stage("delayed", "NoOpComponent", dim, &input.expression);
                format!("Offset({node}, {delay})")
            }
        };
        b.line(format!("output-node name=output input={source}"));
    }
    b.target(Target::Final);
    b.component("", "FixedAffineComponent", format!("matrix={}", layer.text("affine-transform-file")));
    b.target(Target::Reference);
    b.component("", "FixedAffineComponent", format!("input-dim={} output-dim={dim}", input.dim));
    b.target(Target::Network);
    let node = b.node("", "", input.expression);
    Ok(b.finish(node, dim))
}
