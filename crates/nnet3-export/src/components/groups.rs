//! Norms, sums and products over groups of columns.

use super::Use;
use crate::error::Result;
use crate::fields::Table;
use crate::graph::{Attribute, Graph, Value};

/// The smallest power, relative to that of the output, that a NormalizeComponent sees: 2^-66.
const POWER_FLOOR: f32 = 1.0 / (1u128 << 66) as f32;

pub(super) fn normalize(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let input = run.input()?;
    let cols = graph.cols(input);
    let block = if run.fields.has("<BlockDim>") { run.fields.size("<BlockDim>")? } else { cols };
    let rms = match run.fields.has("<TargetRms>") {
        true => run.fields.number("<TargetRms>")? as f32,
        false => 1.0,
    };
    let x = graph.reshaped(input, block);
    let squares = graph.binary("Mul", x, x);
    let sum = graph.sum_cols(squares);
    let power = graph.scaled(sum, 1.0 / (block as f32 * rms * rms));
    let power = graph.floored(power, POWER_FLOOR);
    let root = graph.unary("Sqrt", power);
    let y = graph.binary("Div", x, root);
    let y = if run.fields.flag("<AddLogStddev>") {
        let log = graph.unary("Log", root);
        let of_rms = graph.scalar(rms.ln());
        let log = graph.binary("Add", log, of_rms);
        graph.concat_cols(&[y, log])
    } else {
        y
    };
    Ok(graph.reshaped(y, run.component.output_dim()))
}

pub(super) fn pnorm(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let input = run.input()?;
    let group = graph.cols(input) / run.component.output_dim();
    // A group as wide as the input needs a reshape too, because it yields one column.
    let x = graph.reshaped(input, group);
    let shape = (graph.rows(x), 1);
    let attributes = [("axes", Attribute::Ints(vec![2])), ("keepdims", Attribute::Int(1))];
    let norms = graph.standard("ReduceL2", &[x], &attributes, shape);
    Ok(graph.reshaped(norms, run.component.output_dim()))
}

pub(super) fn sum_group(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let (input, sizes) = (run.input()?, run.fields.ints("<Sizes>")?);
    if sizes.windows(2).all(|pair| pair[0] == pair[1]) {
        let x = graph.reshaped(input, sizes[0] as usize);
        let sums = graph.sum_cols(x);
        return Ok(graph.reshaped(sums, sizes.len()));
    }
    let cols = graph.cols(input);
    let mut data = vec![0.0; sizes.len() * cols];
    let mut first = 0;
    for (group, &size) in sizes.iter().enumerate() {
        data[group * cols + first..][..size as usize].fill(1.0);
        first += size as usize;
    }
    Ok(graph.matmul(input, &Table { rows: sizes.len(), cols, data }))
}

fn blocks(graph: &mut Graph, run: &Use<'_>) -> Result<Vec<Value>> {
    let (input, cols) = (run.input()?, run.component.output_dim());
    let firsts = (0..graph.cols(input)).step_by(cols);
    Ok(firsts.map(|first| graph.slice_cols(input, first, cols)).collect())
}

fn combined(graph: &mut Graph, run: &Use<'_>, op: &'static str) -> Result<Value> {
    let blocks = blocks(graph, run)?;
    Ok(blocks[1..].iter().fold(blocks[0], |all, &block| graph.binary(op, all, block)))
}

pub(super) fn sum_block(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let sum = combined(graph, run, "Add")?;
    Ok(graph.scaled(sum, run.fields.number("<Scale>")? as f32))
}

pub(super) fn product(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    combined(graph, run, "Mul")
}
