//! LSTMs with a component for each matrix and nonlinearity (Sak et al., <https://arxiv.org/abs/1402.1128>).

use super::recurrent::{
    CELL_DIM, LSTM, PROJECTED, RECURRENT, SELF_REPAIR, affine_options, cell_dim, delayed, gate_dropout, l2,
    projected, scale_options, self_repair, truncation,
};
use crate::error::Problem;
use crate::layer::{Builder, Built, Default, Key, Layer, LayerType, key};

const AFFINE_OPTIONS: Key = key("ng-affine-options", Default::Text(" max-change=0.75 "), "of all matrices");
const SCALE_MEANING: &str = "of the diagonal matrices from the cell to the gates";

const PROJECTED_LSTM: &[&[Key]] = &[
    RECURRENT,
    PROJECTED,
    LSTM,
    &[
        SELF_REPAIR,
        AFFINE_OPTIONS,
        key("ng-per-element-scale-options", Default::Text(" max-change=0.75 "), SCALE_MEANING),
        key("dropout-proportion", Default::Float(-1.0), "of dropout on the gates; -1: no dropout component"),
        key("dropout-per-frame", Default::Bool(false), "whole frames, not single elements"),
    ],
];

pub const TYPES: &[LayerType] = &[
    LayerType {
        name: "lstm-layer",
        purpose: "An LSTM. Auxiliary output `c_t`: the cell.",
        keys: &[
            RECURRENT,
            LSTM,
            &[
                CELL_DIM,
                SELF_REPAIR,
                AFFINE_OPTIONS,
                key("ng-per-element-scale-options", Default::Text(" max-change=0.75"), SCALE_MEANING),
            ],
        ],
        example: "cell-dim=128 delay=-3",
        build: lstm,
    },
    LayerType {
        name: "lstmp-layer",
        purpose: "An LSTM with projection of its output. Auxiliary output `c_t`: the cell.",
        keys: PROJECTED_LSTM,
        example: "cell-dim=128 recurrent-projection-dim=32 non-recurrent-projection-dim=32 delay=-3",
        build: lstmp,
    },
    LayerType {
        name: "lstmp-batchnorm-layer",
        purpose: "An LSTM with projection and batch normalisation of its output. Auxiliary output `c_t`: the cell.",
        keys: PROJECTED_LSTM,
        example: "cell-dim=128 recurrent-projection-dim=32 non-recurrent-projection-dim=32 delay=-3",
        build: lstmp,
    },
];

fn lstm(layer: &mut Layer) -> Result<Built, Problem> {
    let cell = cell_dim(layer)?;
    let mut b = Builder::new(layer);
    cell_lines(layer, &mut b, cell, cell, None)?;
    b.component("r", "BackpropTruncationComponent", truncation(layer, cell)?);
    b.node("r_t", "r", b.full_name("m_t"));
    let output = b.full_name("m_t");
    Ok(b.finish(output, cell))
}

fn lstmp(layer: &mut Layer) -> Result<Built, Problem> {
    let dims = projected(layer)?;
    let dropout = gate_dropout(layer)?;
    let mut b = Builder::new(layer);
    cell_lines(layer, &mut b, dims.cell, dims.recurrent, dropout)?;
    let projection = format!("input-dim={} output-dim={} {}", dims.cell, dims.output, affine_options(layer));
    b.component("W_rp.m", "NaturalGradientAffineComponent", projection);
    b.component("r", "BackpropTruncationComponent", truncation(layer, dims.recurrent)?);
    let mut output = b.node("rp_t", "W_rp.m", b.full_name("m_t"));
    b.columns("r_t_preclip", "rp_t", 0, dims.recurrent);
    b.node("r_t", "r", b.full_name("r_t_preclip"));
    if layer.words().contains(&"batchnorm") {
        output = b.stage("rp_t_batchnorm", "BatchNormComponent", format!("dim={}", dims.output), output);
    }
    Ok(b.finish(output, dims.output))
}

/// The components and nodes up to `m_t`, with `recurrent` columns of `r_t`. `dropout`: options on the gates.
fn cell_lines(
    layer: &Layer,
    b: &mut Builder,
    cell: i64,
    recurrent: i64,
    dropout: Option<String>,
) -> Result<(), Problem> {
    let (n, input) = (&layer.name, layer.input());
    let affine = format!("input-dim={} output-dim={cell} {}", input.dim + recurrent, affine_options(layer));
    let scale = format!("dim={cell} {} {}", scale_options(layer), l2(layer));
    for gate in ["i", "f", "o"] {
        b.component(&format!("W_{gate}.xr"), "NaturalGradientAffineComponent", &affine);
        b.component(&format!("w_{gate}.c"), "NaturalGradientPerElementScaleComponent", &scale);
    }
    b.component("W_c.xr", "NaturalGradientAffineComponent", &affine);
    let nonlinearity = format!("dim={cell} {}", self_repair(layer)?);
    for gate in ["i", "f", "o"] {
        b.component(gate, "SigmoidComponent", &nonlinearity);
    }
    for value in ["g", "h"] {
        b.component(value, "TanhComponent", &nonlinearity);
    }
    if let Some(options) = &dropout {
        b.component("dropout", "DropoutComponent", format!("dim={cell} {options}"));
    }
    for product in ["c1", "c2", "m"] {
        b.component(
            product,
            "ElementwiseProductComponent",
            format!("input-dim={} output-dim={cell}", 2 * cell),
        );
    }
    b.component("c", "BackpropTruncationComponent", truncation(layer, cell)?);

    b.node("c_t", "c", format!("Sum({n}.c1_t, {n}.c2_t)"));
    let before = delayed(layer, "c_t");
    let inputs = format!("Append({}, {})", input.expression, delayed(layer, "r_t"));
    for (gate, peephole) in [("i", before.clone()), ("f", before.clone()), ("o", format!("{n}.c_t"))] {
        b.node(&format!("{gate}1_t"), &format!("W_{gate}.xr"), &inputs);
        b.node(&format!("{gate}2_t"), &format!("w_{gate}.c"), peephole);
        let sum = format!("Sum({n}.{gate}1_t, {n}.{gate}2_t)");
        if dropout.is_some() {
            let kept = b.node(&format!("{gate}_t_predrop"), gate, sum);
            b.node(&format!("{gate}_t"), "dropout", kept);
        } else {
            b.node(&format!("{gate}_t"), gate, sum);
        }
    }
    b.node("h_t", "h", format!("{n}.c_t"));
    b.node("g1_t", "W_c.xr", inputs);
    b.node("g_t", "g", format!("{n}.g1_t"));
    b.node("c1_t", "c1", format!("Append({n}.f_t, {before})"));
    b.node("c2_t", "c2", format!("Append({n}.i_t, {n}.g_t)"));
    b.node("m_t", "m", format!("Append({n}.o_t, {n}.h_t)"));
    b.auxiliary("c_t", "c_t", cell);
    Ok(())
}
