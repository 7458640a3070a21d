//! The cells of recurrent layers, without the recurrence.

use super::Use;
use super::affine::floats;
use crate::error::Result;
use crate::graph::{Graph, Value};

/// i, f, the cell's input and o of an LSTM with peepholes; then the cell and its output.
pub(super) fn lstm(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let (x, params) = (run.input()?, run.fields.table("<Params>")?);
    let cells = params.cols;
    let part = |graph: &mut Graph, k: usize| graph.slice_cols(x, k * cells, cells);
    let mask = |graph: &mut Graph, value: Value, k: usize| {
        if graph.cols(x) == 5 * cells {
            return value;
        }
        let mask = graph.slice_cols(x, 5 * cells + k, 1);
        graph.binary("Mul", value, mask)
    };
    let gate = |graph: &mut Graph, k: usize, input: Value, cell: Value| {
        let weights = graph.row(floats(&params.data[k * cells..(k + 1) * cells]));
        let peephole = graph.binary("Mul", cell, weights);
        let sum = graph.binary("Add", input, peephole);
        let gate = graph.unary("Sigmoid", sum);
        mask(graph, gate, k)
    };
    let [i_part, f_part, c_part, o_part, before] = [0, 1, 2, 3, 4].map(|k| part(graph, k));
    let i = gate(graph, 0, i_part, before);
    let f = gate(graph, 1, f_part, before);
    let new = graph.unary("Tanh", c_part);
    let kept = graph.binary("Mul", f, before);
    let added = graph.binary("Mul", i, new);
    let cell = graph.binary("Add", kept, added);
    let o = gate(graph, 2, o_part, cell);
    let out = graph.unary("Tanh", cell);
    let out = graph.binary("Mul", o, out);
    Ok(graph.concat_cols(&[cell, out]))
}

/// h and c = h + z ⊙ (previous c - h).
fn with_cell(graph: &mut Graph, h: Value, z: Value, before: Value) -> Value {
    let change = graph.binary("Sub", before, h);
    let change = graph.binary("Mul", z, change);
    let cell = graph.binary("Add", h, change);
    graph.concat_cols(&[h, cell])
}

pub(super) fn gru(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let (x, w) = (run.input()?, run.fields.table("<w_h>")?);
    let (cells, recurrent) = (w.rows, w.cols);
    let z = graph.slice_cols(x, 0, cells);
    let r = graph.slice_cols(x, cells, recurrent);
    let part = graph.slice_cols(x, cells + recurrent, cells);
    let before = graph.slice_cols(x, 2 * cells + recurrent, cells);
    // Without a projection the state that is fed back is the cell.
    let state = match cells == recurrent {
        true => before,
        false => graph.slice_cols(x, 3 * cells + recurrent, recurrent),
    };
    let reset = graph.binary("Mul", r, state);
    let product = graph.matmul(reset, &w);
    let sum = graph.binary("Add", part, product);
    let h = graph.unary("Tanh", sum);
    Ok(with_cell(graph, h, z, before))
}

pub(super) fn output_gru(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let (x, w) = (run.input()?, floats(&run.fields.table("<w_h>")?.data));
    let cells = w.len();
    let [z, part, before] = [0, 1, 2].map(|k| graph.slice_cols(x, k * cells, cells));
    let w = graph.row(w);
    let product = graph.binary("Mul", before, w);
    let sum = graph.binary("Add", part, product);
    let h = graph.unary("Tanh", sum);
    Ok(with_cell(graph, h, z, before))
}
