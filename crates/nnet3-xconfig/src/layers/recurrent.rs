//! Parts shared by LSTM and GRU layers.

use crate::error::Problem;
use crate::layer::{Default, INPUT, Key, Layer, key};
use crate::value::{Value, float_text};

/// The key `cell-dim` of layers without projection.
pub(super) const CELL_DIM: Key =
    key("cell-dim", Default::Int(-1), "dimension of the cell; -1: that of the input");

/// Dimensions of layers with projection.
pub(super) const PROJECTED: &[Key] = &[
    key("cell-dim", Default::RequiredInt, "dimension of the cell"),
    key("recurrent-projection-dim", Default::Int(-1), "columns of the output that recur; -1: cell-dim / 4"),
    key("non-recurrent-projection-dim", Default::Int(-1), "further columns of the output; -1: as many"),
];

/// Keys of all recurrent layers.
pub(super) const RECURRENT: &[Key] = &[
    INPUT,
    key("delay", Default::Int(-1), "time offset of the recurrence; not 0; negative: from left to right"),
    key("clipping-threshold", Default::Float(30.0), "limit on the norm of recurrent derivatives"),
    key("zeroing-threshold", Default::Float(15.0), "norm from which recurrent derivatives are zeroed"),
    key("zeroing-interval", Default::Int(20), "frames between the places where that may happen"),
];

/// Further keys of LSTMs.
pub(super) const LSTM: &[Key] = &[
    key("decay-time", Default::Float(-1.0), "frames after which the cell has forgotten; -1: no limit"),
    key("l2-regularize", Default::Float(0.0), "of all matrices"),
];

/// The key `self-repair-scale-nonlinearity`.
pub(super) const SELF_REPAIR: Key =
    key("self-repair-scale-nonlinearity", Default::Float(1e-5), "of sigmoids and tanhs, 0 to 1");

/// Dropout keys of layers with one mask for all columns of a frame as the default.
pub(super) const DROPOUT: &[Key] = &[
    key("dropout-proportion", Default::Float(-1.0), "of dropout on the gates; -1: no dropout components"),
    key("dropout-per-frame", Default::Bool(true), "whole frames, not single elements"),
];

/// The key `cell-dim` of a layer without projection, completed and checked.
pub(super) fn cell_dim(layer: &mut Layer) -> Result<i64, Problem> {
    check(layer)?;
    let dim = layer.dim_or_input("cell-dim");
    Ok(dim)
}

/// Dimensions of a layer with projection.
#[derive(Clone, Copy)]
pub(super) struct Projected {
    pub cell: i64,
    /// Columns of the output that recur.
    pub recurrent: i64,
    /// The number of all columns of the output.
    pub output: i64,
}

/// The keys [`PROJECTED`], completed and checked.
pub(super) fn projected(layer: &mut Layer) -> Result<Projected, Problem> {
    check(layer)?;
    let cell = layer.positive("cell-dim")?;
    if layer.int("recurrent-projection-dim") <= 0 {
        layer.set("recurrent-projection-dim", Value::Int(cell / 4));
    }
    let recurrent = layer.int("recurrent-projection-dim");
    if layer.int("non-recurrent-projection-dim") <= 0 {
        layer.set("non-recurrent-projection-dim", Value::Int(recurrent));
    }
    let output = recurrent + layer.int("non-recurrent-projection-dim");
    let expected = || format!("positive, and with non-recurrent-projection-dim at most cell-dim={cell}");
    layer.require(recurrent > 0 && output <= cell, "recurrent-projection-dim", expected)?;
    Ok(Projected { cell, recurrent, output })
}

fn check(layer: &Layer) -> Result<(), Problem> {
    layer.require(layer.int("delay") != 0, "delay", || "an integer that is not 0".into())
}

/// `IfDefined(Offset(node, delay))`: a value of the time before.
pub(super) fn delayed(layer: &Layer, node: &str) -> String {
    format!("IfDefined(Offset({}.{node}, {}))", layer.name, layer.int("delay"))
}

/// Arguments of a BackpropTruncationComponent.
pub(super) fn truncation(layer: &Layer, dim: i64) -> Result<String, Problem> {
    let given = layer.given(&["clipping-threshold", "zeroing-threshold", "zeroing-interval"]);
    let interval = layer.int("delay").abs();
    Ok(format!("dim={dim} {given} recurrence-interval={interval} {}", recurrence_scale(layer, interval)?))
}

/// Returns the setting that the key `decay-time` implies; empty for layers without it.
fn recurrence_scale(layer: &Layer, interval: i64) -> Result<String, Problem> {
    if layer.layer_type.all_keys().all(|key| key.name != "decay-time") {
        return Ok(String::new());
    }
    let decay = layer.float("decay-time");
    let scale = if decay < 0.0 { 1.0 } else { 1.0 - interval as f64 / decay };
    layer.require(scale > 0.0, "decay-time", || format!("more than the delay, {interval}, or -1"))?;
    Ok(format!("scale={}", float_text(scale)))
}

/// Options of matrices: the key `ng-affine-options` and, if the layer has it, `l2-regularize`.
pub(super) fn affine_options(layer: &Layer) -> String {
    format!("{} {}", layer.text("ng-affine-options"), l2(layer))
}

/// `l2-regularize=…` unless it is 0 or the layer has no such key.
pub(super) fn l2(layer: &Layer) -> String {
    match layer.layer_type.all_keys().any(|key| key.name == "l2-regularize") {
        true => layer.unless("l2-regularize", 0.0),
        false => String::new(),
    }
}

/// Options of a component that scales each column.
pub(super) fn scale_options(layer: &Layer) -> String {
    let options = layer.text("ng-per-element-scale-options");
    match options.contains("param-mean") || options.contains("param-stddev") {
        true => options.to_owned(),
        false => format!("{options} param-mean=0.0 param-stddev=1.0"),
    }
}

/// The key `self-repair-scale=…` of nonlinearities.
pub(super) fn self_repair(layer: &Layer) -> Result<String, Problem> {
    Ok(format!("self-repair-scale={:.10}", layer.proportion("self-repair-scale-nonlinearity")?))
}

/// Options of a DropoutComponent on gates besides its dimension, if the layer has one.
pub(super) fn gate_dropout(layer: &Layer) -> Result<Option<String>, Problem> {
    let per_frame = layer.flag("dropout-per-frame");
    let options = |_| format!("{} dropout-per-frame={per_frame}", layer.given(&["dropout-proportion"]));
    Ok(layer.optional_dropout()?.map(options))
}
