//! GRUs with projection around an OutputGruNonlinearityComponent: with update gate z and output gate o.

use super::fast_gru::{OWN, normalized_recurrence};
use super::gru::{PROJECTED_EXAMPLE, gate};
use super::recurrent::{
    DROPOUT, PROJECTED, Projected, RECURRENT, affine_options, delayed, gate_dropout, projected, self_repair,
    truncation,
};
use crate::error::Problem;
use crate::layer::{Builder, Built, Layer, LayerType};

pub const TYPES: &[LayerType] = &[
    LayerType {
        name: "fast-opgru-layer",
        purpose: "A GRU with output gate and projection. Auxiliary output `c_t`: the cell.",
        keys: &[RECURRENT, PROJECTED, OWN],
        example: PROJECTED_EXAMPLE,
        build: fast_opgru,
    },
    LayerType {
        name: "fast-norm-opgru-layer",
        purpose: "A GRU with output gate and projection; batch normalisation of its output, normalisation of each row \
                  in the recurrence. Auxiliary output `c_t`: the cell.",
        keys: &[RECURRENT, PROJECTED, OWN, DROPOUT],
        example: PROJECTED_EXAMPLE,
        build: fast_norm_opgru,
    },
];

fn fast_opgru(layer: &mut Layer) -> Result<Built, Problem> {
    let dims = projected(layer)?;
    let mut b = Builder::new(layer);
    cell_lines(layer, &mut b, dims, None)?;
    let output = b.node("y_t", "W_y.cdoto", b.full_name("cdoto"));
    b.component("s_r", "BackpropTruncationComponent", truncation(layer, dims.recurrent)?);
    b.columns("s_t_preclip", "y_t", 0, dims.recurrent);
    b.node("s_t", "s_r", b.full_name("s_t_preclip"));
    Ok(b.finish(output, dims.output))
}

fn fast_norm_opgru(layer: &mut Layer) -> Result<Built, Problem> {
    let dims = projected(layer)?;
    let dropout = gate_dropout(layer)?;
    let mut b = Builder::new(layer);
    cell_lines(layer, &mut b, dims, dropout)?;
    b.node("y_t_tmp", "W_y.cdoto", b.full_name("cdoto"));
    let output = normalized_recurrence(layer, &mut b, dims)?;
    Ok(b.finish(output, dims.output))
}

/// Writes the components and nodes up to `cdoto`, the cell `c_t` after the output gate; then the projection.
fn cell_lines(
    layer: &Layer,
    b: &mut Builder,
    dims: Projected,
    dropout: Option<String>,
) -> Result<(), Problem> {
    let Projected { cell, recurrent, output } = dims;
    let (n, input) = (&layer.name, layer.input());
    for (matrix, inputs) in
        [("W_z.xs", input.dim + recurrent), ("W_o.xs", input.dim + recurrent), ("W_hpart.x", input.dim)]
    {
        let options = format!("input-dim={inputs} output-dim={cell} {}", affine_options(layer));
        b.component(matrix, "NaturalGradientAffineComponent", options);
    }
    let nonlinearity = format!("dim={cell} {}", self_repair(layer)?);
    b.component("z", "SigmoidComponent", &nonlinearity);
    b.component("o", "SigmoidComponent", &nonlinearity);
    if let Some(options) = &dropout {
        b.component("dropout", "DropoutComponent", format!("dim={cell} {options}"));
    }
    let inputs = format!("Append({}, {})", input.expression, delayed(layer, "s_t"));
    let drop = |node| dropout.as_ref().map(|_| ("dropout", node));
    gate(b, "z", "W_z.xs", &inputs, drop("z_t_predrop"));
    gate(b, "o", "W_o.xs", &inputs, drop("o_t_predrop"));
    b.node("hpart_t", "W_hpart.x", input.expression);
    let options = format!("cell-dim={cell} {}", layer.text("gru-nonlinearity-options"));
    b.component("gru_nonlin", "OutputGruNonlinearityComponent", options);
    b.node("gru_nonlin_t", "gru_nonlin", format!("Append({n}.z_t, {n}.hpart_t, {})", delayed(layer, "c_t")));
    b.columns("c_t", "gru_nonlin_t", cell, cell);
    let product = format!("input-dim={} output-dim={cell}", 2 * cell);
    b.stage("cdoto", "ElementwiseProductComponent", product, format!("Append({n}.c_t, {n}.o_t)"));
    let projection = format!("input-dim={cell} output-dim={output} {}", affine_options(layer));
    b.component("W_y.cdoto", "NaturalGradientAffineComponent", projection);
    b.auxiliary("c_t", "c_t", cell);
    Ok(())
}
