//! What a minibatch asks of a network.

use crate::error::{Error, Result};
use crate::example::{NnetExample, NnetIo};
use nnet3_core::NodeId;
use nnet3_core::nnet::{Nnet, Node};
use nnet3_core::request::{ComputationRequest, IoSpecification};

/// A request for every output in the example, from every input in it. With `derivatives`, those of all outputs will be
/// supplied and the parameters' are wanted. Names that the network does not have and dimensions that differ are errors.
pub fn minibatch_request(
    nnet: &Nnet,
    example: &NnetExample,
    derivatives: bool,
    store_component_stats: bool,
) -> Result<ComputationRequest> {
    let mut request = ComputationRequest {
        need_model_derivative: derivatives,
        store_component_stats,
        ..ComputationRequest::default()
    };
    for io in &example.ios {
        let (node, is_input) = find(nnet, &io.name)?;
        check_dim(nnet, node, io, is_input)?;
        let list = if is_input { &mut request.inputs } else { &mut request.outputs };
        list.push(IoSpecification {
            name: io.name.clone(),
            indexes: io.indexes.clone(),
            has_deriv: derivatives && !is_input,
        });
    }
    check_not_empty(&request)?;
    Ok(request)
}

/// A request for one output at the indexes that the example has for it, whatever its targets are, from every input in the
/// example. Names that the network does not have and inputs of another dimension are errors.
pub fn forward_request(nnet: &Nnet, example: &NnetExample, output: &str) -> Result<ComputationRequest> {
    let mut request = ComputationRequest::default();
    for io in &example.ios {
        let (node, is_input) = find(nnet, &io.name)?;
        if is_input {
            check_dim(nnet, node, io, true)?;
        }
        if is_input || io.name == output {
            let list = if is_input { &mut request.inputs } else { &mut request.outputs };
            list.push(IoSpecification {
                name: io.name.clone(),
                indexes: io.indexes.clone(),
                has_deriv: false,
            });
        }
    }
    if request.outputs.is_empty() {
        return Err(Error::data(format!("the example has no output '{output}'")));
    }
    check_not_empty(&request)?;
    Ok(request)
}

fn check_not_empty(request: &ComputationRequest) -> Result<()> {
    for (list, kind) in [(&request.inputs, "input"), (&request.outputs, "output")] {
        if list.is_empty() {
            return Err(Error::data(format!("the example has nothing for an {kind} of the network")));
        }
    }
    Ok(())
}

/// The node of this name, and whether it is an input (or else an output) of the network.
fn find(nnet: &Nnet, name: &str) -> Result<(NodeId, bool)> {
    match nnet.find_node(name).map(|id| (id, nnet.node(id))) {
        Some((id, Node::Input { .. })) => Ok((id, true)),
        Some((id, Node::Output { .. })) => Ok((id, false)),
        _ => Err(unknown(nnet, name)),
    }
}

fn check_dim(nnet: &Nnet, node: NodeId, io: &NnetIo, is_input: bool) -> Result<()> {
    let (expected, found) = (nnet.node_dim(node), io.features.cols());
    if expected == found {
        return Ok(());
    }
    let (of, what) = if is_input { ("input", "features") } else { ("output", "targets") };
    Err(Error::data(format!(
        "{of} '{}' of the network has dimension {expected}, but the example has {what} of dimension {found}",
        io.name
    )))
}

fn unknown(nnet: &Nnet, name: &str) -> Error {
    let names = |ids: &mut dyn Iterator<Item = NodeId>| {
        ids.map(|id| format!("'{}'", nnet.node_name(id))).collect::<Vec<_>>().join(", ")
    };
    Error::data(format!(
        "the example has '{name}', but the network has only the inputs {} and the outputs {}",
        names(&mut nnet.input_nodes()),
        names(&mut nnet.output_nodes())
    ))
}
