//! GRUs around a GruNonlinearityComponent: with update gate z and reset gate r.

use super::gru::{AFFINE_OPTIONS, PROJECTED_EXAMPLE, UNUSED_SCALE_OPTIONS, gate};
use super::recurrent::{
    CELL_DIM, DROPOUT, PROJECTED, Projected, RECURRENT, SELF_REPAIR, affine_options, cell_dim, delayed,
    gate_dropout, projected, self_repair, truncation,
};
use crate::error::Problem;
use crate::layer::{Builder, Built, Default, Key, Layer, LayerType, key};

/// Keys of all layers with such a component.
pub(super) const NONLINEARITY_OPTIONS: Key =
    key("gru-nonlinearity-options", Default::Text(" max-change=0.75"), "of the nonlinearity component");

pub(super) const OWN: &[Key] = &[
    SELF_REPAIR,
    AFFINE_OPTIONS,
    NONLINEARITY_OPTIONS,
    key("ng-per-element-scale-options", Default::Text(" max-change=0.75 "), UNUSED_SCALE_OPTIONS),
];

pub const TYPES: &[LayerType] = &[
    LayerType {
        name: "fast-gru-layer",
        purpose: "A GRU.",
        keys: &[
            RECURRENT,
            &[
                CELL_DIM,
                SELF_REPAIR,
                AFFINE_OPTIONS,
                NONLINEARITY_OPTIONS,
                key("ng-per-element-scale-options", Default::Text(" max-change=0.75"), UNUSED_SCALE_OPTIONS),
            ],
        ],
        example: "cell-dim=128 delay=-3",
        build: fast_gru,
    },
    LayerType {
        name: "fast-pgru-layer",
        purpose: "A GRU with projection of its output. Auxiliary output `c_t`: the cell.",
        keys: &[RECURRENT, PROJECTED, OWN],
        example: PROJECTED_EXAMPLE,
        build: fast_pgru,
    },
    LayerType {
        name: "fast-norm-pgru-layer",
        purpose: "A GRU with projection; batch normalisation of its output, normalisation of each row in the \
                  recurrence. Auxiliary output `c_t`: the cell.",
        keys: &[RECURRENT, PROJECTED, OWN, DROPOUT],
        example: PROJECTED_EXAMPLE,
        build: fast_norm_pgru,
    },
];

fn fast_gru(layer: &mut Layer) -> Result<Built, Problem> {
    let cell = cell_dim(layer)?;
    let (n, input) = (layer.name.clone(), layer.input());
    let mut b = Builder::new(layer);
    for (matrix, inputs) in
        [("W_z.xh", input.dim + cell), ("W_r.xh", input.dim + cell), ("W_hpart.x", input.dim)]
    {
        let options = format!("input-dim={inputs} output-dim={cell} {}", affine_options(layer));
        b.component(matrix, "NaturalGradientAffineComponent", options);
    }
    let nonlinearity = format!("dim={cell} {}", self_repair(layer)?);
    b.component("z", "SigmoidComponent", &nonlinearity);
    b.component("r", "SigmoidComponent", &nonlinearity);
    let state = delayed(layer, "s_t");
    let inputs = format!("Append({}, {state})", input.expression);
    gate(&mut b, "z", "W_z.xh", &inputs, None);
    gate(&mut b, "r", "W_r.xh", &inputs, None);
    b.node("hpart_t", "W_hpart.x", input.expression);
    let options = format!("cell-dim={cell} {}", layer.text("gru-nonlinearity-options"));
    b.component("gru_nonlin", "GruNonlinearityComponent", options);
    b.node("gru_nonlin_t", "gru_nonlin", format!("Append({n}.z_t, {n}.r_t, {n}.hpart_t, {state})"));
    b.columns("y_t", "gru_nonlin_t", cell, cell);
    b.component("s_r", "BackpropTruncationComponent", truncation(layer, cell)?);
    b.node("s_t", "s_r", format!("{n}.y_t"));
    Ok(b.finish(format!("{n}.y_t"), cell))
}

fn fast_pgru(layer: &mut Layer) -> Result<Built, Problem> {
    let dims = projected(layer)?;
    let mut b = Builder::new(layer);
    cell_lines(layer, &mut b, dims, None)?;
    let projection = format!("input-dim={} output-dim={} {}", dims.cell, dims.output, affine_options(layer));
    b.component("W_y.c", "NaturalGradientAffineComponent", projection);
    let output = b.node("y_t", "W_y.c", b.full_name("c_t"));
    b.component("s_r", "BackpropTruncationComponent", truncation(layer, dims.recurrent)?);
    b.columns("s_t_pre", "y_t", 0, dims.recurrent);
    b.node("s_t", "s_r", b.full_name("s_t_pre"));
    Ok(b.finish(output, dims.output))
}

fn fast_norm_pgru(layer: &mut Layer) -> Result<Built, Problem> {
    let dims = projected(layer)?;
    let dropout = gate_dropout(layer)?;
    let mut b = Builder::new(layer);
    cell_lines(layer, &mut b, dims, dropout)?;
    let projection = format!("input-dim={} output-dim={} {}", dims.cell, dims.output, affine_options(layer));
    b.component("W_y.c", "NaturalGradientAffineComponent", projection);
    b.node("y_t_tmp", "W_y.c", b.full_name("c_t"));
    let output = normalized_recurrence(layer, &mut b, dims)?;
    Ok(b.finish(output, dims.output))
}

/// Writes the lines from the node `y_t_tmp` to the state `s_t` and the output, which is returned.
pub(super) fn normalized_recurrence(
    layer: &Layer,
    b: &mut Builder,
    dims: Projected,
) -> Result<String, Problem> {
    b.component("renorm", "NormalizeComponent", format!("dim={} target-rms=1.0", dims.recurrent));
    b.component("s_r", "BackpropTruncationComponent", truncation(layer, dims.recurrent)?);
    b.columns("s_t_pre", "y_t_tmp", 0, dims.recurrent);
    let recurrent = b.node("s_t_renorm", "renorm", b.full_name("s_t_pre"));
    b.node("s_t", "s_r", recurrent);
    b.component("batchnorm", "BatchNormComponent", format!("dim={} target-rms=1.0", dims.output));
    Ok(b.node("y_t", "batchnorm", b.full_name("y_t_tmp")))
}

/// The components and nodes up to `c_t`, the cell.
fn cell_lines(
    layer: &Layer,
    b: &mut Builder,
    dims: Projected,
    dropout: Option<String>,
) -> Result<(), Problem> {
    let Projected { cell, recurrent, .. } = dims;
    let (n, input) = (&layer.name, layer.input());
    for (matrix, inputs, outputs) in [
        ("W_z.xs", input.dim + recurrent, cell),
        ("W_r.xs", input.dim + recurrent, recurrent),
        ("W_hpart.x", input.dim, cell),
    ] {
        let options = format!("input-dim={inputs} output-dim={outputs} {}", affine_options(layer));
        b.component(matrix, "NaturalGradientAffineComponent", options);
    }
    let repair = self_repair(layer)?;
    b.component("z", "SigmoidComponent", format!("dim={cell} {repair}"));
    b.component("r", "SigmoidComponent", format!("dim={recurrent} {repair}"));
    if let Some(options) = &dropout {
        b.component("dropout_z", "DropoutComponent", format!("dim={cell} {options}"));
        b.component("dropout_r", "DropoutComponent", format!("dim={recurrent} {options}"));
    }
    let state = delayed(layer, "s_t");
    let inputs = format!("Append({}, {state})", input.expression);
    let drop = |component, node| dropout.as_ref().map(|_| (component, node));
    gate(b, "z", "W_z.xs", &inputs, drop("dropout_z", "z_t_predrop"));
    gate(b, "r", "W_r.xs", &inputs, drop("dropout_r", "r_t_predrop"));
    b.node("hpart_t", "W_hpart.x", input.expression);
    let options =
        format!("cell-dim={cell} recurrent-dim={recurrent} {}", layer.text("gru-nonlinearity-options"));
    b.component("gru_nonlin", "GruNonlinearityComponent", options);
    let before = delayed(layer, "c_t");
    b.node("gru_nonlin_t", "gru_nonlin", format!("Append({n}.z_t, {n}.r_t, {n}.hpart_t, {before}, {state})"));
    b.columns("c_t", "gru_nonlin_t", cell, cell);
    b.auxiliary("c_t", "c_t", cell);
    Ok(())
}
