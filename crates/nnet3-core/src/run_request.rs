//! Runs one request once. Matrices go in; matrices and a gradient come out.

use crate::execute::{Executor, Model, Program};
use kaldi_io::matrix::DenseMatrix;
use nnet3_base::error::{Error, Result};
use nnet3_base::random::Random;
use nnet3_compiler::request::ComputationRequest;
use nnet3_network::Nnet;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Matrices by node name, rows in the request's order.
pub type NamedMatrices = BTreeMap<String, DenseMatrix<f32>>;

/// The results of a request.
pub struct Results {
    pub outputs: NamedMatrices,
    /// The derivatives of the inputs with `has_deriv`.
    pub input_derivs: NamedMatrices,
    /// The network with its parameters replaced by their gradient, if the request asks for it.
    pub gradient: Option<Nnet>,
}

/// Runs `program`, which was compiled from `request`. If the request needs derivatives, `output_derivs` must hold the
/// derivative of every output with `has_deriv`. Statistics that components store are dropped.
pub fn run_request(
    nnet: &Nnet,
    request: &ComputationRequest,
    program: &Arc<Program>,
    executor: &mut Executor,
    inputs: &NamedMatrices,
    output_derivs: &NamedMatrices,
    random: &Random,
) -> Result<Results> {
    let mut nnet = nnet.clone();
    nnet.to_device(executor.device());
    let mut gradient = nnet.clone();
    gradient.scale(0.0);
    gradient.set_as_gradient();
    executor.start(program)?;
    for io in &request.inputs {
        give(executor, &nnet, &io.name, inputs, "input")?;
    }
    executor.run(&mut Model::Gradient { nnet: &mut nnet, gradient: &mut gradient }, random)?;
    let names = request.outputs.iter().map(|io| io.name.as_str());
    let outputs = names.map(|name| take(executor, &nnet, name)).collect::<Result<_>>()?;
    let mut input_derivs = NamedMatrices::new();
    let backward = request.need_derivatives()?;
    if backward {
        for io in request.outputs.iter().filter(|io| io.has_deriv) {
            give(executor, &nnet, &io.name, output_derivs, "derivative of the output")?;
        }
        executor.run(&mut Model::Gradient { nnet: &mut nnet, gradient: &mut gradient }, random)?;
        for io in request.inputs.iter().filter(|io| io.has_deriv) {
            let (name, matrix) = take(executor, &nnet, &io.name)?;
            input_derivs.insert(name, matrix);
        }
    }
    let gradient = (backward && request.need_model_derivative).then_some(gradient);
    Ok(Results { outputs, input_derivs, gradient })
}

fn give(executor: &mut Executor, nnet: &Nnet, name: &str, from: &NamedMatrices, what: &str) -> Result<()> {
    let missing = || {
        let found: Vec<&str> = from.keys().map(String::as_str).collect();
        Error::Execution(format!(
            "the {what} '{name}' is missing; found {}",
            if found.is_empty() { "nothing".into() } else { found.join(", ") }
        ))
    };
    let matrix = from.get(name).ok_or_else(missing)?;
    executor.accept_input(nnet, name, matrix.rows, matrix.cols, &matrix.data)
}

fn take(executor: &Executor, nnet: &Nnet, name: &str) -> Result<(String, DenseMatrix<f32>)> {
    let view = executor.output(nnet, name)?;
    let data = executor.device().download(view);
    executor.check_device()?;
    Ok((name.to_string(), DenseMatrix { rows: view.rows(), cols: view.cols(), data }))
}
