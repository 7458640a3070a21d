//! Operators for each element, or for all columns of a row, without other rows.

use super::Use;
use super::affine::floats;
use crate::error::Result;
use crate::graph::{Attribute, Graph, Value};

/// The floor of a softmax component's output.
const SOFTMAX_FLOOR: f32 = 1e-20;
/// Scales of a ScaleAndOffsetComponent that are closer to zero are replaced by this, with their sign.
const LEAST_SCALE: f32 = 1e-4;

pub(super) fn dropout(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let kept = 1.0 - run.fields.number("<DropoutProportion>")? as f32;
    Ok(graph.scaled(run.input()?, kept))
}

pub(super) fn truncation(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let scale = match run.fields.has("<Scale>") {
        true => run.fields.number("<Scale>")? as f32,
        false => 1.0,
    };
    Ok(graph.scaled(run.input()?, scale))
}

pub(super) fn dropout_mask(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let kept = match run.fields.has("<Continuous>") {
        true => 1.0,
        false => 1.0 - run.fields.number("<DropoutProportion>")? as f32,
    };
    Ok(graph.fill(vec![kept; run.component.output_dim()], run.output_rows))
}

pub(super) fn constant(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let row = floats(&run.fields.table("<Output>")?.data);
    Ok(graph.fill(row, run.output_rows))
}

pub(super) fn softmax(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let soft = softmax_of(graph, run.input()?);
    Ok(graph.floored(soft, SOFTMAX_FLOOR))
}

pub(super) fn softmax_of(graph: &mut Graph, x: Value) -> Value {
    let shape = (graph.rows(x), graph.cols(x));
    graph.standard("Softmax", &[x], &[("axis", Attribute::Int(-1))], shape)
}

pub(super) fn log_softmax(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let x = run.input()?;
    let shape = (graph.rows(x), graph.cols(x));
    Ok(graph.standard("LogSoftmax", &[x], &[("axis", Attribute::Int(-1))], shape))
}

/// A row of constants, as often as it fits into the columns.
fn tiled(graph: &mut Graph, values: &[f32], cols: usize) -> Value {
    graph.row(values.repeat(cols / values.len().max(1)))
}

pub(super) fn per_column(graph: &mut Graph, run: &Use<'_>, op: &'static str, token: &str) -> Result<Value> {
    let row = tiled(graph, &floats(&run.fields.table(token)?.data), run.component.output_dim());
    Ok(graph.binary(op, run.input()?, row))
}

fn scaled_and_shifted(graph: &mut Graph, run: &Use<'_>, scales: &[f32], offsets: &[f32]) -> Result<Value> {
    let cols = run.component.output_dim();
    let (scales, offsets) = (tiled(graph, scales, cols), tiled(graph, offsets, cols));
    let scaled = graph.binary("Mul", run.input()?, scales);
    Ok(graph.binary("Add", scaled, offsets))
}

pub(super) fn scale_and_offset(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let usable = |scale: f32| match scale.abs() < LEAST_SCALE {
        true if scale < 0.0 => -LEAST_SCALE,
        true => LEAST_SCALE,
        false => scale,
    };
    let scales: Vec<f32> =
        run.fields.table("<Scales>")?.data.iter().map(|&scale| usable(scale as f32)).collect();
    let offsets = floats(&run.fields.table("<Offsets>")?.data);
    scaled_and_shifted(graph, run, &scales, &offsets)
}

/// y = (x - mean) · target-rms / √(variance + epsilon). Without statistics, mean 0 and variance 1.
pub(super) fn batch_norm(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let block = run.fields.size("<BlockDim>")?;
    let (rms, epsilon) = (run.fields.number("<TargetRms>")?, run.fields.number("<Epsilon>")?);
    let (mean, variance) = match run.fields.number("<Count>")? {
        0.0 => (vec![0.0; block], vec![1.0; block]),
        _ => (run.fields.table("<StatsMean>")?.data, run.fields.table("<StatsVar>")?.data),
    };
    let scales: Vec<f64> = variance.iter().map(|v| rms / (v.max(0.0) + epsilon).sqrt()).collect();
    let offsets: Vec<f64> = mean.iter().zip(&scales).map(|(mean, scale)| -mean * scale).collect();
    scaled_and_shifted(graph, run, &floats(&scales), &floats(&offsets))
}
