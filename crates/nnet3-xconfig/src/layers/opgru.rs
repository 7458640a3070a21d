//! GRUs with projection and an output gate o in place of the reset gate.

use super::gru::{AFFINE_OPTIONS, PROJECTED_EXAMPLE, gate, normalization, one_minus_z, projection};
use super::recurrent::{
    DROPOUT, PROJECTED, Projected, RECURRENT, SELF_REPAIR, affine_options, delayed, gate_dropout, projected,
    scale_options, self_repair,
};
use crate::error::Problem;
use crate::layer::{Builder, Built, Default, Key, Layer, LayerType, key};

const OWN: &[Key] = &[
    SELF_REPAIR,
    AFFINE_OPTIONS,
    key(
        "ng-per-element-scale-options",
        Default::Text(" max-change=0.75 "),
        "of the diagonal matrix of the recurrence",
    ),
];

pub const TYPES: &[LayerType] = &[
    LayerType {
        name: "opgru-layer",
        purpose: "A GRU with output gate and projection. Auxiliary output `h_t`: the candidate of the cell.",
        keys: &[RECURRENT, PROJECTED, OWN],
        example: PROJECTED_EXAMPLE,
        build: opgru,
    },
    LayerType {
        name: "norm-opgru-layer",
        purpose: "A GRU with output gate and projection; batch normalisation of its output, normalisation of each row \
                  in the recurrence. Auxiliary output `h_t`: the candidate of the cell.",
        keys: &[
            RECURRENT,
            PROJECTED,
            OWN,
            DROPOUT,
            &[key("l2-regularize", Default::Float(0.0), "of all matrices but the diagonal one")],
        ],
        example: PROJECTED_EXAMPLE,
        build: norm_opgru,
    },
];

fn opgru(layer: &mut Layer) -> Result<Built, Problem> {
    let dims = projected(layer)?;
    let mut b = Builder::new(layer);
    cell_lines(layer, &mut b, dims, None)?;
    projection(layer, &mut b, dims)?;
    let output = b.node("sn_t", "W_s.ys", b.full_name("y_o_t"));
    b.columns("s_t_preclip", "sn_t", 0, dims.recurrent);
    b.node("s_t", "s_r", b.full_name("s_t_preclip"));
    Ok(b.finish(output, dims.output))
}

fn norm_opgru(layer: &mut Layer) -> Result<Built, Problem> {
    let dims = projected(layer)?;
    let dropout = gate_dropout(layer)?;
    let mut b = Builder::new(layer);
    cell_lines(layer, &mut b, dims, dropout)?;
    projection(layer, &mut b, dims)?;
    normalization(&mut b, dims);
    let projected = b.node("sn_nobatchnorm_t", "W_s.ys", b.full_name("y_o_t"));
    let output = b.node("sn_t", "batchnorm", projected);
    b.columns("s_t_preclip", "sn_nobatchnorm_t", 0, dims.recurrent);
    let recurrent = b.node("s_t_preclip_renorm", "renorm", b.full_name("s_t_preclip"));
    b.node("s_t", "s_r", recurrent);
    Ok(b.finish(output, dims.output))
}

/// Writes the components and nodes up to `y_t`, the cell, and `y_o_t`, the cell after the output gate.
fn cell_lines(
    layer: &Layer,
    b: &mut Builder,
    dims: Projected,
    dropout: Option<String>,
) -> Result<(), Problem> {
    let Projected { cell, recurrent, .. } = dims;
    let (n, input) = (&layer.name, layer.input());
    for (matrix, inputs) in
        [("W_z.xs_z", input.dim + recurrent), ("W_z.xs_o", input.dim + recurrent), ("W_h.UW", input.dim)]
    {
        let options = format!("input-dim={inputs} output-dim={cell} {}", affine_options(layer));
        b.component(matrix, "NaturalGradientAffineComponent", options);
    }
    let scale = format!("dim={cell} {}", scale_options(layer));
    b.component("W_h.UW_elementwise", "NaturalGradientPerElementScaleComponent", scale);
    let nonlinearity = format!("dim={cell} {}", self_repair(layer)?);
    b.component("z", "SigmoidComponent", &nonlinearity);
    b.component("o", "SigmoidComponent", &nonlinearity);
    b.component("h", "TanhComponent", &nonlinearity);
    for product in ["o1", "y1", "y2"] {
        let dims = format!("input-dim={} output-dim={cell}", 2 * cell);
        b.component(product, "ElementwiseProductComponent", dims);
    }
    b.component("y", "NoOpComponent", format!("dim={cell}"));
    if let Some(options) = &dropout {
        b.component("dropout", "DropoutComponent", format!("dim={cell} {options}"));
    }

    let inputs = format!("Append({}, {})", input.expression, delayed(layer, "s_t"));
    let drop = |node| dropout.as_ref().map(|_| ("dropout", node));
    gate(b, "z", "W_z.xs_z", &inputs, drop("z_predrop_t"));
    gate(b, "o", "W_z.xs_o", &inputs, drop("o_predrop_t"));
    let before = delayed(layer, "y_t");
    b.node("h_t_pre", "W_h.UW", input.expression);
    b.node("h_t_pre2", "W_h.UW_elementwise", &before);
    b.node("h_t", "h", format!("Sum({n}.h_t_pre, {n}.h_t_pre2)"));
    b.node("y1_t", "y1", format!("Append({n}.h_t, {})", one_minus_z(n, cell)));
    b.node("y2_t", "y2", format!("Append({before}, {n}.z_t)"));
    b.node("y_t", "y", format!("Sum({n}.y1_t, {n}.y2_t)"));
    b.node("y_o_t", "o1", format!("Append({n}.o_t, {n}.y_t)"));
    b.auxiliary("h_t", "h_t", cell);
    Ok(())
}
