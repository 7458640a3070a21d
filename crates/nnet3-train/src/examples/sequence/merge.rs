//! Merging examples with supervision into minibatches.

use nnet3_core::Index;

use super::{SequenceExample, SequenceOutput, SequenceSupervision};
use crate::error::{Error, Result};
use crate::merge::merge_ios;

/// Merges examples of equal structure that have one sequence each. Inputs have their rows sequence by sequence, outputs
/// frame by frame.
pub(super) fn merge<S: SequenceSupervision>(
    examples: Vec<SequenceExample<S>>,
    compress: bool,
) -> Result<SequenceExample<S>> {
    let count =
        examples.first().ok_or_else(|| Error::data("expected at least one example to merge"))?.outputs.len();
    if examples.iter().any(|example| example.outputs.len() != count) {
        return Err(Error::data("the examples to merge have different numbers of outputs"));
    }
    if let Some(name) = examples.iter().find_map(SequenceExample::merged_part) {
        return Err(Error::data(format!(
            "'{name}' has several sequences: merged examples cannot be merged again"
        )));
    }
    let mut inputs = Vec::with_capacity(examples.len());
    let mut outputs: Vec<Vec<SequenceOutput<S>>> = (0..count).map(|_| Vec::new()).collect();
    for example in examples {
        inputs.push(example.inputs);
        outputs.iter_mut().zip(example.outputs).for_each(|(list, output)| list.push(output));
    }
    Ok(SequenceExample {
        inputs: merge_ios(inputs, 1, compress)?,
        outputs: outputs.into_iter().map(merge_outputs).collect::<Result<_>>()?,
    })
}

/// Joins the same output of several examples.
fn merge_outputs<S: SequenceSupervision>(outputs: Vec<SequenceOutput<S>>) -> Result<SequenceOutput<S>> {
    let name = outputs[0].name.clone();
    if let Some(other) = outputs.iter().find(|output| output.name != name) {
        return Err(Error::data(format!("'{name}' of one example is '{}' of another", other.name)));
    }
    let mut indexes = Vec::with_capacity(outputs.iter().map(|output| output.indexes.len()).sum());
    for (n, output) in outputs.iter().enumerate() {
        indexes.extend(output.indexes.iter().map(|index| Index { n: n as i32, ..*index }));
    }
    indexes.sort();
    let deriv_weights = merge_weights(&outputs);
    let mut supervision: Vec<S> = outputs.into_iter().map(|output| output.supervision).collect();
    let supervision = match supervision.len() {
        1 => supervision.remove(0),
        _ => S::merge(supervision)
            .map_err(|e| Error::data(format!("the supervision of '{name}' cannot be merged: {e}")))?,
    };
    Ok(SequenceOutput { name, indexes, supervision, deriv_weights })
}

/// Weights in the order of the merged indexes: frame by frame. Empty if all are.
fn merge_weights<S>(outputs: &[SequenceOutput<S>]) -> Vec<f32> {
    if outputs.iter().all(|output| output.deriv_weights.is_empty()) {
        return Vec::new();
    }
    let frames = outputs[0].indexes.len();
    let weight =
        |frame: usize, output: &SequenceOutput<S>| output.deriv_weights.get(frame).copied().unwrap_or(1.0);
    (0..frames).flat_map(|frame| outputs.iter().map(move |output| weight(frame, output))).collect()
}

/// Returns an error if a property of two examples to merge differs.
pub fn differ<T: PartialEq + std::fmt::Display>(property: &str, first: T, other: T) -> Result<()> {
    if first == other {
        return Ok(());
    }
    Err(Error::data(format!("the {property} of one example is {first}, of another {other}")))
}
