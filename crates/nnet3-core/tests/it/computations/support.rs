//! Networks and data in code, and comparing results.

use kaldi_io::matrix::DenseMatrix;
use nnet3_core::Random;
use nnet3_core::computation::{Computation, print};
use nnet3_core::config::parse_config;
use nnet3_core::execute::{Executor, Program};
use nnet3_core::nnet::Nnet;
use nnet3_core::request::{ComputationRequest, IoSpecification};
use nnet3_core::run_request::{NamedMatrices, Results, run_request};
use std::sync::Arc;

pub fn nnet(config: &str) -> Nnet {
    let mut nnet = Nnet::default();
    let lines = parse_config("test", config.lines()).unwrap();
    nnet.read_config(lines, &Random::new(1)).unwrap_or_else(|e| panic!("{e}\n{config}"));
    nnet
}

/// Model derivative, supplied at `output`.
pub fn training_request(
    sequences: i32,
    inputs: std::ops::Range<i32>,
    outputs: std::ops::Range<i32>,
) -> ComputationRequest {
    ComputationRequest {
        inputs: vec![IoSpecification::new("input", sequences, inputs, false)],
        outputs: vec![IoSpecification::new("output", sequences, outputs, true)],
        need_model_derivative: true,
        store_component_stats: false,
    }
}

/// Returns the request without derivatives.
pub fn forward_only(request: &ComputationRequest) -> ComputationRequest {
    let mut out = request.clone();
    out.outputs.iter_mut().for_each(|io| io.has_deriv = false);
    out.inputs.iter_mut().for_each(|io| io.has_deriv = false);
    out.need_model_derivative = false;
    out
}

pub fn print(nnet: &Nnet, computation: &Computation) -> String {
    print::print(computation, &print::Names::of(nnet))
}

/// The listing without the descriptions of matrices.
pub fn print_short(nnet: &Nnet, computation: &Computation) -> String {
    let mut computation = computation.clone();
    computation.debug_info.clear();
    print(nnet, &computation)
}

pub fn random_matrix(random: &mut fastrand::Rng, rows: usize, cols: usize) -> DenseMatrix<f32> {
    let data = (0..rows * cols).map(|_| random.f32() * 2.0 - 1.0).collect();
    DenseMatrix { rows, cols, data }
}

/// Data for the inputs and the output derivatives of a request.
pub fn random_data(nnet: &Nnet, request: &ComputationRequest, seed: u64) -> (NamedMatrices, NamedMatrices) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut matrix = |name: &str, rows: usize| {
        let dim = nnet.node_dim(nnet.find_node(name).unwrap());
        (name.to_string(), random_matrix(&mut random, rows, dim))
    };
    let inputs = request.inputs.iter().map(|io| matrix(&io.name, io.indexes.len())).collect();
    let with_deriv = request.outputs.iter().filter(|io| io.has_deriv);
    let derivs = with_deriv.map(|io| matrix(&io.name, io.indexes.len())).collect();
    (inputs, derivs)
}

/// Runs a computation with the dropout off.
pub fn run(
    nnet: &Nnet,
    request: &ComputationRequest,
    computation: &Computation,
    data: &(NamedMatrices, NamedMatrices),
) -> Result<Results, String> {
    let mut nnet = nnet.clone();
    nnet.set_dropout_test_mode(true);
    let mut executor = Executor::new(&nnet3_matrix::cpu());
    let program = Arc::new(Program::new(&nnet, computation.clone()).map_err(|e| e.to_string())?);
    run_request(&nnet, request, &program, &mut executor, &data.0, &data.1, &Random::new(0))
        .map_err(|e| e.to_string())
}

fn norm(values: impl Iterator<Item = f32>) -> f64 {
    values.map(|v| v as f64 * v as f64).sum::<f64>().sqrt()
}

/// Fails if the two are further apart than `relative` × the wanted norm + `absolute`.
pub fn compare(
    what: &str,
    found: &[f32],
    wanted: &[f32],
    relative: f64,
    absolute: f64,
) -> Result<(), String> {
    if found.len() != wanted.len() {
        return Err(format!("{what}: {} numbers instead of {}", found.len(), wanted.len()));
    }
    let distance = norm(found.iter().zip(wanted).map(|(f, w)| f - w));
    let allowed = relative * norm(wanted.iter().copied()) + absolute;
    if distance <= allowed {
        Ok(())
    } else {
        Err(format!("{what}: off by {distance:.3e}, allowed {allowed:.3e}"))
    }
}

/// Agreement as the conformance cases define it.
pub fn compare_results(found: &Results, wanted: &Results) -> Result<(), String> {
    compare_named(&found.outputs, &wanted.outputs, 1e-4, 1e-5)?;
    compare_named(&found.input_derivs, &wanted.input_derivs, 1e-3, 1e-4)?;
    match (&found.gradient, &wanted.gradient) {
        (Some(found), Some(wanted)) => compare_gradients(found, wanted),
        (None, None) => Ok(()),
        _ => Err("only one of two has a gradient".to_string()),
    }
}

pub fn compare_named(
    found: &NamedMatrices,
    wanted: &NamedMatrices,
    relative: f64,
    absolute: f64,
) -> Result<(), String> {
    for (name, w) in wanted {
        let f = found.get(name).ok_or_else(|| format!("no matrix for {name}"))?;
        compare(name, &f.data, &w.data, relative, absolute)?;
    }
    Ok(())
}

pub fn compare_gradients(found: &Nnet, wanted: &Nnet) -> Result<(), String> {
    for ((a, b), name) in found.components().zip(wanted.components()).zip(found.component_names()) {
        if let (Some(a), Some(b)) = (a.as_updatable(), b.as_updatable()) {
            compare(&format!("gradient of {name}"), &a.vectorize(), &b.vectorize(), 1e-3, 1e-4)?;
        }
    }
    Ok(())
}
