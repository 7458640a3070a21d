//! The request of a minibatch: its inputs and outputs.

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::example::{NnetExample, NnetIo};
use nnet3_core::nnet::{Nnet, Node};
use nnet3_core::request::{ComputationRequest, IoSpecification};
use nnet3_core::{Index, NodeId};

/// The inputs for a network, and the outputs to compute. The caller checks each item against the network.
#[derive(Debug, Default)]
pub struct MinibatchRequest<'e> {
    inputs: Vec<&'e NnetIo>,
    outputs: Vec<OutputRequest<'e>>,
}

/// An output, and the index of each of its rows.
#[derive(Debug)]
pub struct OutputRequest<'e> {
    pub name: Cow<'e, str>,
    pub indexes: &'e [Index],
}

impl<'e> OutputRequest<'e> {
    /// The indexes that an example has for an output.
    pub fn of(io: &'e NnetIo) -> OutputRequest<'e> {
        OutputRequest { name: Cow::Borrowed(&io.name), indexes: &io.indexes }
    }
}

impl<'e> MinibatchRequest<'e> {
    /// Adds an io if the network has an input of this name; returns false if it is an output. Other names, and features
    /// of another dimension, are errors.
    pub(crate) fn try_input(&mut self, nnet: &Nnet, io: &'e NnetIo) -> Result<bool> {
        let (node, is_input) = find(nnet, &io.name)?;
        if is_input {
            let (expected, found) = (nnet.node_dim(node), io.features.cols());
            if expected != found {
                return Err(Error::data(format!(
                    "input '{}' of the network has dimension {expected}, but the example has features of dimension {found}",
                    io.name
                )));
            }
            self.inputs.push(io);
        }
        Ok(is_input)
    }

    /// Adds an input. It is an error if the network has no such input.
    pub fn input(&mut self, nnet: &Nnet, io: &'e NnetIo) -> Result<()> {
        match self.try_input(nnet, io)? {
            true => Ok(()),
            false => Err(unknown(nnet, &io.name)),
        }
    }

    /// Adds an output, of this dimension if one is given. It is an error if the network has no such output.
    pub fn output(&mut self, nnet: &Nnet, output: OutputRequest<'e>, dim: Option<usize>) -> Result<()> {
        let (node, is_input) = find(nnet, &output.name)?;
        if is_input {
            return Err(unknown(nnet, &output.name));
        }
        let found = nnet.node_dim(node);
        if let Some(dim) = dim.filter(|&dim| dim != found) {
            return Err(Error::data(format!(
                "output '{}' of the network has dimension {found}, but the example has targets of dimension {dim}",
                output.name
            )));
        }
        self.outputs.push(output);
        Ok(())
    }

    pub fn inputs(&self) -> &[&'e NnetIo] {
        &self.inputs
    }

    pub fn outputs(&self) -> &[OutputRequest<'e>] {
        &self.outputs
    }

    /// Returns the request for the compiler. With `derivatives`, derivatives of all outputs will be supplied and those
    /// of parameters are wanted.
    pub(crate) fn computation_request(
        &self,
        derivatives: bool,
        store_component_stats: bool,
    ) -> Result<ComputationRequest> {
        let specification = |name: &str, indexes: &[Index], has_deriv: bool| IoSpecification {
            name: name.to_owned(),
            indexes: indexes.to_vec(),
            has_deriv,
        };
        let request = ComputationRequest {
            inputs: self.inputs.iter().map(|io| specification(&io.name, &io.indexes, false)).collect(),
            outputs: self.outputs.iter().map(|o| specification(&o.name, o.indexes, derivatives)).collect(),
            need_model_derivative: derivatives,
            store_component_stats,
        };
        for (list, kind) in [(&request.inputs, "input"), (&request.outputs, "output")] {
            if list.is_empty() {
                return Err(Error::data(format!("the example has no data for an {kind} of the network")));
            }
        }
        Ok(request)
    }

    /// Number of sequences (values of n, counted from 0).
    pub fn sequences(&self) -> usize {
        let inputs = self.inputs.iter().flat_map(|io| &io.indexes);
        let last = inputs.chain(self.outputs.iter().flat_map(|o| o.indexes)).map(|index| index.n).max();
        last.map_or(1, |n| n as usize + 1)
    }
}

/// Makes a request for one output at its indexes in the example, from every input in the example; targets do not
/// matter. Names that the network does not have and inputs of another dimension are errors.
pub(crate) fn forward_request<'e>(
    nnet: &Nnet,
    example: &'e NnetExample,
    output: &str,
) -> Result<MinibatchRequest<'e>> {
    let mut request = MinibatchRequest::default();
    for io in &example.ios {
        if !request.try_input(nnet, io)? && io.name == output {
            request.output(nnet, OutputRequest::of(io), None)?;
        }
    }
    if request.outputs.is_empty() {
        return Err(Error::data(format!("the example has no output '{output}'")));
    }
    Ok(request)
}

/// The node of this name, and whether it is an input (or else an output) of the network.
fn find(nnet: &Nnet, name: &str) -> Result<(NodeId, bool)> {
    match nnet.find_node(name).map(|id| (id, nnet.node(id))) {
        Some((id, Node::Input { .. })) => Ok((id, true)),
        Some((id, Node::Output { .. })) => Ok((id, false)),
        _ => Err(unknown(nnet, name)),
    }
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
