//! GRUs with a component for each matrix and nonlinearity, update gate z and reset gate r.

use super::recurrent::{
    CELL_DIM, DROPOUT, PROJECTED, Projected, RECURRENT, SELF_REPAIR, affine_options, cell_dim, delayed,
    gate_dropout, projected, self_repair, truncation,
};
use crate::error::Problem;
use crate::layer::{Builder, Built, Default, Key, Layer, LayerType, key};

/// Keys of all GRUs.
pub(super) const AFFINE_OPTIONS: Key =
    key("ng-affine-options", Default::Text(" max-change=0.75 "), "of all matrices");
/// The note of a key that layers without such a component have in their expansion all the same.
pub(super) const UNUSED_SCALE_OPTIONS: &str = "not used: this layer has no diagonal matrix";
pub(super) const PROJECTED_EXAMPLE: &str =
    "cell-dim=128 recurrent-projection-dim=32 non-recurrent-projection-dim=32 delay=-3";

const OWN: &[Key] = &[
    SELF_REPAIR,
    AFFINE_OPTIONS,
    key("ng-per-element-scale-options", Default::Text(" max-change=0.75 "), UNUSED_SCALE_OPTIONS),
];

pub const TYPES: &[LayerType] = &[
    LayerType {
        name: "gru-layer",
        purpose: "A GRU.",
        keys: &[
            RECURRENT,
            &[
                CELL_DIM,
                SELF_REPAIR,
                AFFINE_OPTIONS,
                key("ng-per-element-scale-options", Default::Text(" max-change=0.75"), UNUSED_SCALE_OPTIONS),
            ],
        ],
        example: "cell-dim=128 delay=-3",
        build: gru,
    },
    LayerType {
        name: "pgru-layer",
        purpose: "A GRU with projection of its output. Auxiliary output `h_t`: the candidate of the cell.",
        keys: &[RECURRENT, PROJECTED, OWN],
        example: PROJECTED_EXAMPLE,
        build: pgru,
    },
    LayerType {
        name: "norm-pgru-layer",
        purpose: "A GRU with projection; batch normalisation of its output, normalisation of each row in the \
                  recurrence. Auxiliary output `h_t`: the candidate of the cell.",
        keys: &[RECURRENT, PROJECTED, OWN, DROPOUT],
        example: PROJECTED_EXAMPLE,
        build: norm_pgru,
    },
];

fn gru(layer: &mut Layer) -> Result<Built, Problem> {
    let cell = cell_dim(layer)?;
    let mut b = Builder::new(layer);
    let dims = Projected { cell, recurrent: cell, output: cell };
    cell_lines(layer, &mut b, dims, None, "s_t")?;
    b.component("s_r", "BackpropTruncationComponent", truncation(layer, cell)?);
    let output = b.node("s_t", "s_r", b.full_name("y_t"));
    Ok(b.finish(output, cell))
}

fn pgru(layer: &mut Layer) -> Result<Built, Problem> {
    let dims = projected(layer)?;
    let mut b = Builder::new(layer);
    cell_lines(layer, &mut b, dims, None, "y_t")?;
    b.auxiliary("h_t", "h_t", dims.cell);
    projection(layer, &mut b, dims)?;
    let output = b.node("sn_t", "W_s.ys", b.full_name("y_t"));
    b.columns("s_t_preclip", "sn_t", 0, dims.recurrent);
    b.node("s_t", "s_r", b.full_name("s_t_preclip"));
    Ok(b.finish(output, dims.output))
}

fn norm_pgru(layer: &mut Layer) -> Result<Built, Problem> {
    let dims = projected(layer)?;
    let dropout = gate_dropout(layer)?;
    let mut b = Builder::new(layer);
    cell_lines(layer, &mut b, dims, dropout, "y_t")?;
    b.auxiliary("h_t", "h_t", dims.cell);
    projection(layer, &mut b, dims)?;
    normalization(&mut b, dims);
    let projected = b.node("sn_nobatchnorm_t", "W_s.ys", b.full_name("y_t"));
    b.columns("s_t_preclip", "sn_nobatchnorm_t", 0, dims.recurrent);
    let output = b.node("sn_t", "batchnorm", projected);
    let recurrent = b.node("s_renorm_t", "renorm", b.full_name("s_t_preclip"));
    b.node("s_t", "s_r", recurrent);
    Ok(b.finish(output, dims.output))
}

/// The components `W_s.ys` and `s_r`.
pub(super) fn projection(layer: &Layer, b: &mut Builder, dims: Projected) -> Result<(), Problem> {
    let options = format!("input-dim={} output-dim={} {}", dims.cell, dims.output, affine_options(layer));
    b.component("W_s.ys", "NaturalGradientAffineComponent", options);
    b.component("s_r", "BackpropTruncationComponent", truncation(layer, dims.recurrent)?);
    Ok(())
}

/// The components `batchnorm` and `renorm`.
pub(super) fn normalization(b: &mut Builder, dims: Projected) {
    b.component("batchnorm", "BatchNormComponent", format!("dim={} target-rms=1.0", dims.output));
    b.component("renorm", "NormalizeComponent", format!("dim={} target-rms=1.0", dims.recurrent));
}

/// The nodes of a gate: `NAME_t_pre`, then with dropout `before_dropout`, then `NAME_t`.
pub(super) fn gate(b: &mut Builder, name: &str, matrix: &str, inputs: &str, dropout: Option<(&str, &str)>) {
    let node = b.node(&format!("{name}_t_pre"), matrix, inputs);
    match dropout {
        Some((component, before_dropout)) => {
            let node = b.node(before_dropout, name, node);
            b.node(&format!("{name}_t"), component, node);
        }
        None => {
            b.node(&format!("{name}_t"), name, node);
        }
    }
}

/// `1 - z_t`.
pub(super) fn one_minus_z(name: &str, cell: i64) -> String {
    format!("Sum(Scale(-1.0,{name}.z_t), Const(1.0, {cell}))")
}

/// The components and nodes up to `y_t`, the cell; `before` is the node of the cell of the time before.
fn cell_lines(
    layer: &Layer,
    b: &mut Builder,
    dims: Projected,
    dropout: Option<String>,
    before: &str,
) -> Result<(), Problem> {
    let Projected { cell, recurrent, .. } = dims;
    let (n, input) = (&layer.name, layer.input());
    for (matrix, outputs) in [("W_z.xs_z", cell), ("W_z.xs_r", recurrent), ("W_h.UW", cell)] {
        let options =
            format!("input-dim={} output-dim={outputs} {}", input.dim + recurrent, affine_options(layer));
        b.component(matrix, "NaturalGradientAffineComponent", options);
    }
    if let Some(options) = &dropout {
        b.component("dropout_z", "DropoutComponent", format!("dim={cell} {options}"));
        b.component("dropout_r", "DropoutComponent", format!("dim={recurrent} {options}"));
    }
    let repair = self_repair(layer)?;
    b.component("z", "SigmoidComponent", format!("dim={cell} {repair}"));
    b.component("r", "SigmoidComponent", format!("dim={recurrent} {repair}"));
    b.component("h", "TanhComponent", format!("dim={cell} {repair}"));
    for (product, outputs) in [("h1", recurrent), ("y1", cell), ("y2", cell)] {
        let dims = format!("input-dim={} output-dim={outputs}", 2 * outputs);
        b.component(product, "ElementwiseProductComponent", dims);
    }
    b.component("y", "NoOpComponent", format!("dim={cell}"));

    let state = delayed(layer, "s_t");
    let inputs = format!("Append({}, {state})", input.expression);
    let drop = |component, node| dropout.as_ref().map(|_| (component, node));
    gate(b, "z", "W_z.xs_z", &inputs, drop("dropout_z", "z_predrop_t"));
    gate(b, "r", "W_z.xs_r", &inputs, drop("dropout_r", "r_predrop_t"));
    b.node("h1_t", "h1", format!("Append({n}.r_t, {state})"));
    b.node("h_t_pre", "W_h.UW", format!("Append({}, {n}.h1_t)", input.expression));
    b.node("h_t", "h", format!("{n}.h_t_pre"));
    b.node("y1_t", "y1", format!("Append({n}.h_t, {})", one_minus_z(n, cell)));
    b.node("y2_t", "y2", format!("Append({}, {n}.z_t)", delayed(layer, before)));
    b.node("y_t", "y", format!("Sum({n}.y1_t, {n}.y2_t)"));
    Ok(())
}
