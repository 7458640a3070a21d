//! Computations for the tests of passes. `tests/it/lowering` compares their results in numbers.

#[allow(dead_code, reason = "some are for tests/it/lowering only")]
pub mod networks;

use super::*;
use crate::compile::compile;
use crate::graph::FrameContext;
use crate::optimize::{OptimizeOptions, optimize};
use crate::request::ComputationRequest;
use nnet3_base::config::parse_config;
use nnet3_base::random::Random;

pub(crate) fn nnet_and_request(config: &str, sequences: i32, frames: i32) -> (Nnet, ComputationRequest) {
    let mut nnet = Nnet::default();
    nnet.read_config(parse_config("test", config.lines()).unwrap(), &Random::new(1)).unwrap();
    let mut request = nnet.ordinary_request(sequences, frames, 1, true).unwrap();
    request.inputs[0].has_deriv = true;
    request.store_component_stats = true;
    (nnet, request)
}

fn optimized(nnet: &Nnet, compiled: &Computation) -> Computation {
    let mut computation = compiled.clone();
    optimize(&OptimizeOptions::default(), nnet, 2, &mut computation).unwrap();
    computation
}

/// A network, and the computation of a training.
pub fn training(config: &str, sequences: i32, frames: i32) -> (Nnet, Computation) {
    let (nnet, request) = nnet_and_request(config, sequences, frames);
    let computation = optimized(&nnet, &compile(&nnet, std::slice::from_ref(&request)).unwrap());
    (nnet, computation)
}

/// Lowers a network that is only run forward.
pub fn forward(config: &str, sequences: i32, frames: i32) -> (Nnet, Computation) {
    let (nnet, _) = nnet_and_request(config, sequences, frames);
    let request = nnet.ordinary_request(sequences, frames, 1, false).unwrap();
    let computation = optimized(&nnet, &compile(&nnet, std::slice::from_ref(&request)).unwrap());
    (nnet, computation)
}

/// Seven steps of a recurrence, with this input to each.
pub fn recurrent(input: &str) -> (Nnet, Computation) {
    training(&networks::RECURRENT.replace("INPUT", input), 3, 7)
}

/// A recurrent network that is only run forward.
pub(crate) fn recurrent_forward(input: &str) -> (Nnet, Computation) {
    forward(&networks::RECURRENT.replace("INPUT", input), 3, 7)
}
