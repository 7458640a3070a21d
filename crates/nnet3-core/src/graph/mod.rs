//! The computation graph of a request: which cindexes are needed and computable, and in which steps they are computed.
//!
//! [`sequences`] finds out whether one sequence can stand for all; [`build`] grows the graph backwards from the
//! requested outputs and prunes it; [`epochs`] orders the nodes; [`phases`] orders cindexes within recurrences;
//! [`steps`] turns phases into matrices' row lists.

pub mod build;
pub mod cindexes;
pub mod epochs;
pub mod explain;
pub mod phases;
pub mod sequences;
pub mod steps;
mod table;

pub use build::GraphBuilder;
pub use cindexes::{CindexId, ComputationGraph};

use crate::error::{Error, Result};
use crate::nnet::Nnet;
use crate::request::ComputationRequest;
use steps::Steps;

/// The graph and the steps of requests that follow each other in time; of their first sequence, where that can stand
/// for all. `done` is called after each of the two with its name.
pub fn graph_and_steps(
    nnet: &Nnet,
    requests: &[ComputationRequest],
    done: &mut dyn FnMut(&'static str),
) -> Result<(ComputationGraph, Steps)> {
    // If this fails, the message is to be about the requests themselves.
    if let Some((first, num_sequences)) = sequences::first_sequence(requests)
        && let Ok(builder) = build(nnet, &first)
        && builder.stays_in_sequence()
    {
        done("graph");
        if let Ok(found) = with_steps(nnet, requests, builder.graph, num_sequences) {
            done("steps");
            return Ok(found);
        }
    }
    let graph = build(nnet, requests)?.graph;
    done("graph");
    let found = with_steps(nnet, requests, graph, 1)?;
    done("steps");
    Ok(found)
}

fn build<'n>(nnet: &'n Nnet, requests: &[ComputationRequest]) -> Result<GraphBuilder<'n>> {
    let mut builder = GraphBuilder::new(nnet);
    for request in requests {
        builder.compute(request)?;
        if !builder.all_outputs_are_computable() {
            return Err(Error::NotComputable(builder.explain_failure(nnet, request)));
        }
        builder.prune();
    }
    Ok(builder)
}

fn with_steps(
    nnet: &Nnet,
    requests: &[ComputationRequest],
    mut graph: ComputationGraph,
    num_sequences: usize,
) -> Result<(ComputationGraph, Steps)> {
    let phases = phases::phases(nnet, &graph)?;
    let steps = steps::steps(nnet, requests, num_sequences, &mut graph, phases)?;
    Ok((graph, steps))
}

/// As [`graph_and_steps`], with all sequences.
#[cfg(test)]
pub(crate) fn of_all_sequences(
    nnet: &Nnet,
    requests: &[ComputationRequest],
) -> Result<(ComputationGraph, Steps)> {
    with_steps(nnet, requests, build(nnet, requests)?.graph, 1)
}

/// For each requested output, whether each of its indexes is computable.
pub fn computable_outputs(nnet: &Nnet, request: &ComputationRequest) -> Result<Vec<Vec<bool>>> {
    let mut builder = GraphBuilder::new(nnet);
    builder.compute(request)?;
    Ok(builder.computable_outputs(request))
}
