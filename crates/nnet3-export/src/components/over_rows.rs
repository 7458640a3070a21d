//! Statistics over ranges of rows, and blocks of columns that become rows.

use super::Use;
use crate::error::Result;
use crate::fields::Fields;
use crate::graph::{Attribute, Graph, Value};

fn ranges(indexes: &Fields) -> Result<Vec<(u32, u32)>> {
    let pairs = indexes.pairs("<ForwardIndexes>")?;
    Ok(pairs.iter().map(|&(begin, end)| (begin.max(0) as u32, end.max(0) as u32)).collect())
}

/// The number of rows, their sum and the sum of their squares.
pub(super) fn extraction(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let (x, ranges) = (run.input()?, ranges(run.indexes()?)?);
    let ones = graph.fill(vec![1.0], graph.rows(x));
    let mut parts = vec![ones, x];
    // The misspelling is part of the file form.
    if run.fields.flag("<IncludeVarinance>") {
        parts.push(graph.binary("Mul", x, x));
    }
    let rows = graph.concat_cols(&parts);
    Ok(graph.sum_ranges(rows, &ranges))
}

/// Makes of sums over windows the logarithm of the number of rows, means, and standard deviations or mean squares.
pub(super) fn pooling(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let (x, ranges) = (run.input()?, ranges(run.indexes()?)?);
    let dim = graph.cols(x) - 1;
    let sums = graph.sum_ranges(x, &ranges);
    let count = graph.slice_cols(sums, 0, 1);
    let sums = graph.slice_cols(sums, 1, dim);
    let means = graph.binary("Div", sums, count);
    let mut parts = Vec::new();
    let log_counts = run.fields.size("<NumLogCountFeatures>")?;
    if log_counts > 0 {
        let floored = graph.floored(count, f32::MIN_POSITIVE);
        let log = graph.unary("Log", floored);
        parts.extend(std::iter::repeat_n(log, log_counts));
    }
    if run.fields.flag("<OutputStddevs>") {
        let mean = graph.slice_cols(means, 0, dim / 2);
        let mean_square = graph.slice_cols(means, dim / 2, dim / 2);
        let square = graph.binary("Mul", mean, mean);
        let variance = graph.binary("Sub", mean_square, square);
        let variance = graph.floored(variance, run.fields.number("<VarianceFloor>")? as f32);
        parts.extend([mean, graph.unary("Sqrt", variance)]);
    } else {
        parts.push(means);
    }
    Ok(match parts[..] {
        [only] => only,
        _ => {
            let shape = (run.output_rows, run.component.output_dim());
            graph.standard("Concat", &parts, &[("axis", Attribute::Int(2))], shape)
        }
    })
}

pub(super) fn distribute(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let (x, dim) = (run.input()?, run.component.output_dim());
    let blocks = (graph.cols(x) / dim) as u32;
    let rows: Vec<u32> = run
        .indexes()?
        .pairs("<Pairs>")?
        .iter()
        .map(|&(row, column)| row as u32 * blocks + column as u32 / dim as u32)
        .collect();
    let x = graph.reshaped(x, dim);
    Ok(graph.rows_of(x, rows.into_iter()))
}
