//! LSTMs around an LstmNonlinearityComponent, with one matrix for all gates.

use super::recurrent::{
    CELL_DIM, LSTM, PROJECTED, RECURRENT, affine_options, cell_dim, delayed, l2, projected, truncation,
};
use crate::error::Problem;
use crate::layer::{Builder, Built, Default, Key, Layer, LayerType, key};

const OPTIONS: &[Key] = &[
    key("lstm-nonlinearity-options", Default::Text(" max-change=0.75"), "of the LstmNonlinearityComponent"),
    key("ng-affine-options", Default::Text(" max-change=1.5"), "of all matrices"),
];
const FAST: &[&[Key]] = &[RECURRENT, LSTM, OPTIONS, &[CELL_DIM]];
const FAST_PROJECTED: &[&[Key]] = &[
    RECURRENT,
    PROJECTED,
    LSTM,
    OPTIONS,
    &[key("dropout-proportion", Default::Float(-1.0), "of dropout on the gates; -1: no dropout component")],
];
const PROJECTED_EXAMPLE: &str =
    "cell-dim=128 recurrent-projection-dim=32 non-recurrent-projection-dim=32 delay=-3";

pub const TYPES: &[LayerType] = &[
    LayerType {
        name: "fast-lstm-layer",
        purpose: "An LSTM. Auxiliary output `c`: the cell.",
        keys: FAST,
        example: "cell-dim=128 delay=-3",
        build: fast_lstm,
    },
    LayerType {
        name: "fast-lstm-batchnorm-layer",
        purpose: "An LSTM with batch normalisation of its output. Auxiliary output `c`: the cell.",
        keys: FAST,
        example: "cell-dim=128 delay=-3",
        build: fast_lstm,
    },
    LayerType {
        name: "lstmb-layer",
        purpose: "An LSTM whose matrix is a product of two, the first one orthonormal; with batch normalisation.",
        keys: &[
            RECURRENT,
            LSTM,
            OPTIONS,
            &[
                CELL_DIM,
                key("bottleneck-dim", Default::RequiredInt, "inner dimension of the product"),
                key("orthonormal-constraint", Default::Float(1.0), "of the first matrix"),
                key("self-scale", Default::Float(1.0), "of the recurrent part of the input"),
            ],
        ],
        example: "cell-dim=128 bottleneck-dim=32 delay=-3",
        build: lstmb,
    },
    LayerType {
        name: "fast-lstmp-layer",
        purpose: "An LSTM with projection of its output. Auxiliary output `c_t`: the cell.",
        keys: FAST_PROJECTED,
        example: PROJECTED_EXAMPLE,
        build: fast_lstmp,
    },
    LayerType {
        name: "fast-lstmp-batchnorm-layer",
        purpose: "An LSTM with projection and batch normalisation of its output. Auxiliary output `c_t`: the cell.",
        keys: FAST_PROJECTED,
        example: PROJECTED_EXAMPLE,
        build: fast_lstmp,
    },
];

fn nonlinearity(layer: &Layer, cell: i64, dropout: &str) -> String {
    format!("cell-dim={cell} {dropout} {} {}", layer.text("lstm-nonlinearity-options"), l2(layer))
}

fn fast_lstm(layer: &mut Layer) -> Result<Built, Problem> {
    let cell = cell_dim(layer)?;
    let input = layer.input();
    let mut b = Builder::new(layer);
    let all = format!("input-dim={} output-dim={} {}", input.dim + cell, 4 * cell, affine_options(layer));
    b.component("W_all", "NaturalGradientAffineComponent", all);
    b.component("lstm_nonlin", "LstmNonlinearityComponent", nonlinearity(layer, cell, ""));
    b.component("cm_trunc", "BackpropTruncationComponent", truncation(layer, 2 * cell)?);
    let all =
        b.node("W_all", "W_all", format!("Append({}, {})", input.expression, delayed(layer, "m_trunc")));
    nodes(layer, &mut b, cell, &all);
    let mut output = b.full_name("m");
    if layer.words().contains(&"batchnorm") {
        output = b.stage("m_batchnorm", "BatchNormComponent", format!("dim={cell}"), output);
    }
    let (c, source) = (b.full_name("c"), b.full_name("lstm_nonlin"));
    let line = format!("dim-range-node name={c} input-node={source} dim-offset=0 dim={cell}");
    b.auxiliary_on_demand("c", "c", cell, line);
    Ok(b.finish(output, cell))
}

/// The nodes from the nonlinearity on, of layers without projection; `all` is its input.
fn nodes(layer: &Layer, b: &mut Builder, cell: i64, all: &str) {
    let inputs = format!("Append({all}, {})", delayed(layer, "c_trunc"));
    let nonlinearity = b.node("lstm_nonlin", "lstm_nonlin", inputs);
    b.columns("m", "lstm_nonlin", cell, cell);
    b.node("cm_trunc", "cm_trunc", nonlinearity);
    b.columns("c_trunc", "cm_trunc", 0, cell);
    b.columns("m_trunc", "cm_trunc", cell, cell);
}

fn lstmb(layer: &mut Layer) -> Result<Built, Problem> {
    let cell = cell_dim(layer)?;
    let bottleneck = layer.positive("bottleneck-dim")?;
    let input = layer.input();
    let mut b = Builder::new(layer);
    let first = format!(
        "input-dim={} {} output-dim={bottleneck} {}",
        input.dim + cell,
        layer.given(&["orthonormal-constraint"]),
        layer.text("ng-affine-options")
    );
    b.component("W_all_a", "LinearComponent", first);
    let second = format!("input-dim={bottleneck} output-dim={} {}", 4 * cell, affine_options(layer));
    b.component("W_all_b", "LinearComponent", second);
    b.component("W_all_b_so", "ScaleAndOffsetComponent", format!("dim={} max-change=0.75", 4 * cell));
    b.component("lstm_nonlin", "LstmNonlinearityComponent", nonlinearity(layer, cell, ""));
    b.component("cm_trunc", "BackpropTruncationComponent", truncation(layer, 2 * cell)?);
    b.component("m_batchnorm", "BatchNormComponent", format!("dim={cell}"));

    let scaled = format!("Scale({}, {}.m_trunc)", layer.value("self-scale"), layer.name);
    let recurrent = format!("IfDefined(Offset({scaled}, {}))", layer.int("delay"));
    let node = b.node("W_all_a", "W_all_a", format!("Append({}, {recurrent})", input.expression));
    let node = b.node("W_all_b", "W_all_b", node);
    let all = b.node("W_all_b_so", "W_all_b_so", node);
    nodes(layer, &mut b, cell, &all);
    let output = b.node("m_batchnorm", "m_batchnorm", b.full_name("m"));
    Ok(b.finish(output, cell))
}

fn fast_lstmp(layer: &mut Layer) -> Result<Built, Problem> {
    let dims = projected(layer)?;
    let (cell, recurrent) = (dims.cell, dims.recurrent);
    let dropout = layer.optional_dropout()?.is_some();
    let (n, input) = (layer.name.clone(), layer.input());
    let mut b = Builder::new(layer);
    let all =
        format!("input-dim={} output-dim={} {}", input.dim + recurrent, 4 * cell, affine_options(layer));
    b.component("W_all", "NaturalGradientAffineComponent", all);
    let options = nonlinearity(layer, cell, &format!("use-dropout={dropout}"));
    b.component("lstm_nonlin", "LstmNonlinearityComponent", options);
    b.component("cr_trunc", "BackpropTruncationComponent", truncation(layer, cell + recurrent)?);
    if dropout {
        let options = format!("output-dim=3 {}", layer.given(&["dropout-proportion"]));
        b.component("dropout_mask", "DropoutMaskComponent", options);
    }
    let projection = format!("input-dim={cell} output-dim={} {}", dims.output, affine_options(layer));
    b.component("W_rp", "NaturalGradientAffineComponent", projection);

    let all =
        b.node("W_all", "W_all", format!("Append({}, {})", input.expression, delayed(layer, "r_trunc")));
    let mask = match dropout {
        // The component has no input, but a node has to have one.
        true => format!(", {}", b.node("dropout_mask", "dropout_mask", b.full_name("dropout_mask"))),
        false => String::new(),
    };
    b.node("lstm_nonlin", "lstm_nonlin", format!("Append({all}, {}{mask})", delayed(layer, "c_trunc")));
    b.columns("c", "lstm_nonlin", 0, cell);
    b.columns("m", "lstm_nonlin", cell, cell);
    let mut output = b.node("rp", "W_rp", format!("{n}.m"));
    b.columns("r", "rp", 0, recurrent);
    b.node("cr_trunc", "cr_trunc", format!("Append({n}.c, {n}.r)"));
    b.columns("c_trunc", "cr_trunc", 0, cell);
    b.columns("r_trunc", "cr_trunc", cell, recurrent);
    if layer.words().contains(&"batchnorm") {
        output = b.stage("rp_batchnorm", "BatchNormComponent", format!("dim={}", dims.output), output);
    }
    b.auxiliary("c_t", "c", cell);
    Ok(b.finish(output, dims.output))
}
