//! Products with parameters.

use super::Use;
use crate::error::Result;
use crate::graph::{Graph, Value};

fn add_bias(graph: &mut Graph, run: &Use<'_>, x: Value) -> Result<Value> {
    let bias = run.fields.table("<BiasParams>")?;
    if bias.data.is_empty() {
        return Ok(x);
    }
    let row = graph.row(floats(&bias.data));
    Ok(graph.binary("Add", x, row))
}

pub(super) fn floats(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&v| v as f32).collect()
}

pub(super) fn affine(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let product = graph.matmul(run.input()?, &run.fields.table("<LinearParams>")?);
    add_bias(graph, run, product)
}

pub(super) fn linear(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    Ok(graph.matmul(run.input()?, &run.fields.table("<Params>")?))
}

/// The rows for all time offsets side by side, times the parameters.
pub(super) fn tdnn(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let input = run.input()?;
    let indexes = run.indexes()?;
    let stride = indexes.size("<RowStride>")? as u32;
    let rows = run.output_rows as u32;
    let mut parts = Vec::new();
    for first in indexes.ints("<RowOffsets>")? {
        parts.push(graph.rows_of(input, (0..rows).map(|j| first as u32 + j * stride)));
    }
    let spliced = graph.concat_cols(&parts);
    let product = graph.matmul(spliced, &run.fields.table("<LinearParams>")?);
    add_bias(graph, run, product)
}

pub(super) fn repeated(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let linear = run.fields.table("<LinearParams>")?;
    let blocks = graph.reshaped(run.input()?, linear.cols);
    let product = graph.matmul(blocks, &linear);
    let sum = add_bias(graph, run, product)?;
    Ok(graph.reshaped(sum, run.component.output_dim()))
}

/// [N, rows, blocks, 1, inputs] times [blocks, inputs, outputs].
pub(super) fn block_affine(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let (input, linear) = (run.input()?, run.fields.table("<LinearParams>")?);
    let blocks = run.fields.size("<NumBlocks>")?;
    let (ins, outs) = (linear.cols, linear.rows / blocks);
    let shape = (graph.rows(input), linear.rows);
    let weights = (0..blocks)
        .flat_map(|b| (0..ins).flat_map(move |i| (0..outs).map(move |o| (b * outs + o) * ins + i)))
        .map(|at| linear.data[at] as f32)
        .collect();
    let weights = graph.floats(&[blocks, ins, outs], weights);
    let dims = graph.ints(&[0, 0, blocks as i64, 1, ins as i64]);
    let inputs = graph.standard("Reshape", &[input, dims], &[], shape);
    let product = graph.standard("MatMul", &[inputs, weights], &[], shape);
    let dims = graph.ints(&[0, 0, linear.rows as i64]);
    let flat = graph.standard("Reshape", &[product, dims], &[], shape);
    add_bias(graph, run, flat)
}
