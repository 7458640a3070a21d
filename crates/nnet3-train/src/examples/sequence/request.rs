//! Requests of networks for examples with supervision.

use std::borrow::Cow;

use nnet3_core::nnet::Nnet;

use super::{SequenceExample, SequenceOutput, SequenceSupervision};
use crate::error::{Error, Result};
use crate::request::{MinibatchRequest, OutputRequest};

/// The end of the name of a cross-entropy output, after the name of the output beside it.
pub const XENT_SUFFIX: &str = "-xent";

/// Inputs whose names begin so are not for the network.
const NOT_FED: &str = "__";

/// The name of the cross-entropy output beside an output.
pub fn xent_name(output: &str) -> String {
    format!("{output}{XENT_SUFFIX}")
}

/// Requests every output in the example from every input, and its cross-entropy output if `xent_regularize` is not 0.
///
/// # Errors
/// The network lacks an input or output, or a dimension differs.
pub fn request<'e, S: SequenceSupervision>(
    nnet: &Nnet,
    example: &'e SequenceExample<S>,
    xent_regularize: f32,
) -> Result<MinibatchRequest<'e>> {
    let mut request = MinibatchRequest::default();
    add_inputs(nnet, example, &mut request)?;
    for output in &example.outputs {
        let indexes = &output.indexes[..];
        let dim = output.supervision.output_dim();
        let name = Cow::Borrowed(output.name.as_str());
        request.output(nnet, OutputRequest { name, indexes }, dim)?;
        if xent_regularize != 0.0 {
            let name = xent_name(&output.name);
            if nnet.find_output(&name).is_none() {
                return Err(Error::data(format!(
                    "with `xent-regularize`={xent_regularize} the network must have an output '{name}'"
                )));
            }
            request.output(nnet, OutputRequest { name: name.into(), indexes }, dim)?;
        }
    }
    Ok(request)
}

/// Requests this output of an example alone.
///
/// # Errors
/// The network lacks an input or the output, or the dimension of an input differs.
pub fn output_request<'e, S: SequenceSupervision>(
    nnet: &Nnet,
    example: &'e SequenceExample<S>,
    output: &'e SequenceOutput<S>,
) -> Result<MinibatchRequest<'e>> {
    let mut request = MinibatchRequest::default();
    add_inputs(nnet, example, &mut request)?;
    let name = Cow::Borrowed(output.name.as_str());
    request.output(nnet, OutputRequest { name, indexes: &output.indexes }, None)?;
    Ok(request)
}

/// Adds the inputs of an example that are for the network.
fn add_inputs<'e, S>(
    nnet: &Nnet,
    example: &'e SequenceExample<S>,
    request: &mut MinibatchRequest<'e>,
) -> Result<()> {
    let mut inputs = example.inputs.iter().filter(|io| !io.name.starts_with(NOT_FED));
    inputs.try_for_each(|io| request.input(nnet, io))
}
