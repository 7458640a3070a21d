//! Merging chain examples into minibatches.

use kaldi_fst::{Fst, ops};
use nnet3_train::merge::merge_ios;
use nnet3_train::{Error, Result};

use crate::example::{NnetChainExample, NnetChainSupervision};
use crate::supervision::{Graph, Supervision};

/// Merges examples of equal structure that have one sequence each. Inputs have their rows sequence by sequence, outputs
/// frame by frame.
pub(crate) fn merge(examples: Vec<NnetChainExample>, compress: bool) -> Result<NnetChainExample> {
    let count = examples.first().ok_or_else(|| Error::data("nothing to merge"))?.outputs.len();
    if examples.iter().any(|example| example.outputs.len() != count) {
        return Err(Error::data("the examples to merge have different numbers of outputs"));
    }
    check_not_merged(&examples)?;
    let mut inputs = Vec::with_capacity(examples.len());
    let mut outputs: Vec<Vec<NnetChainSupervision>> = (0..count).map(|_| Vec::new()).collect();
    for example in examples {
        inputs.push(example.inputs);
        outputs.iter_mut().zip(example.outputs).for_each(|(list, output)| list.push(output));
    }
    Ok(NnetChainExample {
        inputs: merge_ios(inputs, 1, compress)?,
        outputs: outputs.into_iter().map(merge_outputs).collect::<Result<_>>()?,
    })
}

fn check_not_merged(examples: &[NnetChainExample]) -> Result<()> {
    for example in examples {
        let inputs = example.inputs.iter().map(|io| (&io.name, &io.indexes));
        let outputs = example.outputs.iter().map(|output| (&output.name, &output.indexes));
        for (name, indexes) in inputs.chain(outputs) {
            if indexes.iter().any(|index| index.n != 0) {
                return Err(Error::data(format!(
                    "'{name}' has several sequences: chain examples cannot be merged twice"
                )));
            }
        }
    }
    Ok(())
}

/// Joins the same output of several examples.
fn merge_outputs(outputs: Vec<NnetChainSupervision>) -> Result<NnetChainSupervision> {
    let name = outputs[0].name.clone();
    if let Some(other) = outputs.iter().find(|output| output.name != name) {
        return Err(Error::data(format!("'{name}' of one example is '{}' of another", other.name)));
    }
    let mut indexes = Vec::with_capacity(outputs.iter().map(|output| output.indexes.len()).sum());
    for (n, output) in outputs.iter().enumerate() {
        indexes.extend(output.indexes.iter().map(|index| nnet3_core::Index { n: n as i32, ..*index }));
    }
    indexes.sort();
    let deriv_weights = merge_weights(&outputs);
    let supervision = outputs.into_iter().map(|output| output.supervision).collect();
    let supervision = merge_supervision(supervision)
        .map_err(|e| Error::data(format!("the supervision of '{name}' cannot be merged: {e}")))?;
    Ok(NnetChainSupervision { name, indexes, supervision, deriv_weights })
}

/// Weights in the order of the merged indexes: frame by frame. Empty if all are.
fn merge_weights(outputs: &[NnetChainSupervision]) -> Vec<f32> {
    if outputs.iter().all(|output| output.deriv_weights.is_empty()) {
        return Vec::new();
    }
    let frames = outputs[0].indexes.len();
    let weight =
        |frame: usize, output: &NnetChainSupervision| output.deriv_weights.get(frame).copied().unwrap_or(1.0);
    (0..frames).flat_map(|frame| outputs.iter().map(move |output| weight(frame, output))).collect()
}

/// Merges the supervision of all sequences. A single supervision stays unchanged.
fn merge_supervision(mut all: Vec<Supervision>) -> Result<Supervision> {
    if all.len() == 1 {
        return Ok(all.remove(0));
    }
    let first = &all[0];
    for other in &all[1..] {
        differ("weight", first.weight, other.weight)?;
        differ("number of frames", first.frames_per_sequence, other.frames_per_sequence)?;
        differ("largest label", first.label_dim, other.label_dim)?;
    }
    let num_sequences = all.iter().map(|supervision| supervision.num_sequences).sum();
    let header = Supervision {
        num_sequences,
        graph: Graph::EndToEnd(Vec::new()),
        alignment_pdfs: Vec::new(),
        ..*first
    };
    let graph = match &first.graph {
        Graph::Constrained(_) => Graph::Constrained(merge_constrained(&all)?),
        Graph::EndToEnd(_) => Graph::EndToEnd(merge_end_to_end(all)?),
    };
    Ok(Supervision { graph, ..header })
}

fn differ<T: PartialEq + std::fmt::Display>(what: &str, first: T, other: T) -> Result<()> {
    if first == other {
        return Ok(());
    }
    Err(Error::data(format!("the {what} of one example is {first}, of another {other}")))
}

const MIXED: &str = "some examples are end-to-end, others have times";

/// One after the other, without the empty arcs between them, states in the order of time.
fn merge_constrained(all: &[Supervision]) -> Result<Fst> {
    let mut fsts = Vec::with_capacity(all.len());
    for supervision in all {
        match &supervision.graph {
            Graph::Constrained(_) if !supervision.alignment_pdfs.is_empty() => {
                return Err(Error::data("an example with times has alignment pdfs, which cannot be merged"));
            }
            Graph::Constrained(fst) => fsts.push(fst),
            Graph::EndToEnd(_) => return Err(Error::data(MIXED)),
        }
    }
    let mut merged = ops::concatenate(fsts);
    let problem = |e: kaldi_fst::Error| Error::data(format!("supervision FST: {e}"));
    ops::remove_epsilons(&mut merged).map_err(problem)?;
    ops::breadth_first(&mut merged).map_err(problem)?;
    Ok(merged)
}

fn merge_end_to_end(all: Vec<Supervision>) -> Result<Vec<Fst>> {
    let mut merged = Vec::with_capacity(all.len());
    for supervision in all {
        match supervision.graph {
            Graph::EndToEnd(fsts) => merged.extend(fsts),
            Graph::Constrained(_) => return Err(Error::data(MIXED)),
        }
    }
    Ok(merged)
}
