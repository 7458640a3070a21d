//! The computation graph of a request: the cindexes that are needed and computable, and the steps that compute them.
//!
//! [`sequences`] decides if one sequence can stand for all; [`epochs`] orders the nodes. Three builders make the same
//! graph. [`sweep`] is the fastest: node by node, for networks without recurrences. [`search`] goes depth first, if
//! every output is computable. [`build`] grows it level by level from the requested outputs and can explain missing
//! dependencies. [`phases`] orders cindexes within recurrences; [`steps`] turns phases into matrices' row lists.

pub mod build;
pub mod cindexes;
pub mod context;
pub(crate) mod draws;
pub mod epochs;
pub mod explain;
pub mod phases;
mod search;
pub mod sequences;
pub mod steps;
mod sweep;
mod table;

pub use build::GraphBuilder;
pub use cindexes::{CindexId, ComputationGraph};
pub use context::FrameContext;

use crate::request::ComputationRequest;
use epochs::node_epochs;
use nnet3_base::error::{Error, Result};
use nnet3_network::Nnet;
use steps::Steps;

/// Returns the graph and the steps of consecutive requests; if one sequence can stand for all, those of the first.
/// Calls `done` after each of the two, with its name.
pub(crate) fn graph_and_steps(
    nnet: &Nnet,
    requests: &[ComputationRequest],
    done: &mut dyn FnMut(&'static str),
) -> Result<(ComputationGraph, Steps)> {
    let epochs = node_epochs(nnet);
    // If this fails, the message is to be about the requests themselves.
    if let Some((first, num_sequences)) = sequences::first_sequence(requests)
        && let Ok((graph, true)) = build(nnet, &epochs, &first)
    {
        done("graph");
        if let Ok(found) = with_steps(nnet, &epochs, requests, graph, num_sequences) {
            done("steps");
            return Ok(found);
        }
    }
    let (graph, _) = build(nnet, &epochs, requests)?;
    done("graph");
    let found = with_steps(nnet, &epochs, requests, graph, 1)?;
    done("steps");
    Ok(found)
}

/// The graph, and whether in it no cindex depends on another sequence than its own.
fn build(nnet: &Nnet, epochs: &[usize], requests: &[ComputationRequest]) -> Result<(ComputationGraph, bool)> {
    if let [request] = requests {
        if let Some(graph) = sweep::sweep(nnet, epochs, request) {
            return Ok((graph, true));
        }
        if let Some(found) = search::search(nnet, epochs, request) {
            return Ok(found);
        }
    }
    build_by_level(nnet, requests)
}

fn build_by_level(nnet: &Nnet, requests: &[ComputationRequest]) -> Result<(ComputationGraph, bool)> {
    let mut builder = GraphBuilder::new(nnet);
    for request in requests {
        builder.compute(request)?;
        if !builder.all_outputs_are_computable() {
            let why = builder.explain_failure(nnet, request) + &explain::context_hint(nnet, request);
            return Err(Error::NotComputable(why));
        }
        builder.prune();
    }
    let stays_in_sequence = builder.stays_in_sequence();
    Ok((builder.graph, stays_in_sequence))
}

fn with_steps(
    nnet: &Nnet,
    epochs: &[usize],
    requests: &[ComputationRequest],
    mut graph: ComputationGraph,
    num_sequences: usize,
) -> Result<(ComputationGraph, Steps)> {
    let phases = phases::phases(nnet, epochs, &graph)?;
    let steps = steps::steps(nnet, requests, num_sequences, &mut graph, phases)?;
    Ok((graph, steps))
}

/// As [`graph_and_steps`], with all sequences and level by level.
#[cfg(test)]
pub(crate) fn of_all_sequences(
    nnet: &Nnet,
    requests: &[ComputationRequest],
) -> Result<(ComputationGraph, Steps)> {
    with_steps(nnet, &node_epochs(nnet), requests, build_by_level(nnet, requests)?.0, 1)
}

/// Returns the graphs of a request by each of the builders that can make it.
#[cfg(test)]
pub(crate) fn in_all_ways(
    nnet: &Nnet,
    request: &ComputationRequest,
) -> [Option<(ComputationGraph, bool)>; 3] {
    let epochs = node_epochs(nnet);
    [
        build_by_level(nnet, std::slice::from_ref(request)).ok(),
        sweep::sweep(nnet, &epochs, request).map(|graph| (graph, true)),
        search::search(nnet, &epochs, request),
    ]
}

/// For each requested output, whether each of its indexes is computable. `level` is called as by
/// [`GraphBuilder::compute_observed`].
pub(crate) fn computable_outputs(
    nnet: &Nnet,
    request: &ComputationRequest,
    level: &mut dyn FnMut(usize),
) -> Result<Vec<Vec<bool>>> {
    let mut builder = GraphBuilder::new(nnet);
    builder.compute_observed(request, level)?;
    Ok(builder.computable_outputs(request))
}
