//! Runs a network on equal chunks of one or more sequences at a time.

use super::chunk::Chunk;
use crate::execute::CachingCompiler;
use crate::execute::{Executor, Model, Program};
use nnet3_base::error::Result;
use nnet3_base::index::Index;
use nnet3_base::random::Random;
use nnet3_compiler::request::{ComputationRequest, IoSpecification};
use nnet3_matrix::{Device, View};
use nnet3_network::Nnet;
use std::sync::Arc;

/// The shape of a chunk; chunks of one shape may run together. Times are counted from the first output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Shape {
    /// Time of the first input frame.
    pub first_input: i32,
    /// Input frames.
    pub inputs: usize,
    /// Output frames.
    pub outputs: usize,
}

impl Shape {
    pub fn of(chunk: &Chunk) -> Shape {
        Shape {
            first_input: chunk.first_input - chunk.first_output,
            inputs: (chunk.last_input - chunk.first_input + 1) as usize,
            outputs: chunk.rows,
        }
    }

    /// Time of the last input frame.
    pub(crate) fn last_input(&self) -> i32 {
        self.first_input + self.inputs as i32 - 1
    }
}

pub(super) struct Runner<'a> {
    pub nnet: &'a Nnet,
    frame_subsampling_factor: i32,
    pub compiler: CachingCompiler,
    pub executor: Executor,
    random: Random,
}

impl<'a> Runner<'a> {
    /// Makes a runner for a network on `device`.
    pub fn new(
        nnet: &'a Nnet,
        device: &Device,
        frame_subsampling_factor: i32,
        compiler: CachingCompiler,
    ) -> Self {
        let (compiler, executor) = (compiler.for_device(device), Executor::new(device));
        Runner { nnet, frame_subsampling_factor, compiler, executor, random: Random::new(0) }
    }

    /// Appends to `outputs` the output frames of `sequences` chunks. `inputs` has their input frames, `ivectors` an
    /// i-vector for each, one chunk after another.
    pub fn run(
        &mut self,
        shape: &Shape,
        sequences: usize,
        inputs: &[f32],
        ivectors: Option<&[f32]>,
        outputs: &mut Vec<f32>,
    ) -> Result<()> {
        let request = request(shape, sequences, ivectors.is_some(), self.frame_subsampling_factor);
        let program = self.compiler.program(self.nnet, &request)?;
        let chunks = Chunks { sequences, rows: sequences * shape.inputs, inputs, ivectors };
        let device = self.executor.device().clone();
        let output = run_program(self.nnet, &mut self.executor, &program, &self.random, &chunks)?;
        let first = outputs.len();
        outputs.resize(first + output.rows() * output.cols(), 0.0);
        device.download_into(output, &mut outputs[first..]);
        self.executor.check_device()
    }
}

/// The inputs of several chunks of one shape, one after another.
pub(super) struct Chunks<'c> {
    pub sequences: usize,
    /// Input frames of all of them.
    pub rows: usize,
    pub inputs: &'c [f32],
    pub ivectors: Option<&'c [f32]>,
}

/// The output frames of chunks, one chunk after another.
pub(super) fn run_program<'e>(
    nnet: &Nnet,
    executor: &'e mut Executor,
    program: &Arc<Program>,
    random: &Random,
    chunks: &Chunks<'_>,
) -> Result<View<'e>> {
    executor.start(program).map_err(|e| e.of_minibatch(chunks.sequences))?;
    let (rows, inputs) = (chunks.rows, chunks.inputs);
    executor.accept_input(nnet, "input", rows, inputs.len() / rows, inputs)?;
    if let Some(ivectors) = chunks.ivectors {
        let sequences = chunks.sequences;
        executor.accept_input(nnet, "ivector", sequences, ivectors.len() / sequences, ivectors)?;
    }
    executor.run(&mut Model::Frozen(nnet), random)?;
    executor.output(nnet, "output")
}

/// The request of `sequences` chunks.
pub(super) fn request(
    shape: &Shape,
    sequences: usize,
    with_ivectors: bool,
    frame_subsampling_factor: i32,
) -> ComputationRequest {
    let n = sequences as i32;
    let input_times = shape.first_input..shape.first_input + shape.inputs as i32;
    let output_times = (0..shape.outputs as i32).map(|i| i * frame_subsampling_factor);
    let mut inputs = vec![IoSpecification::new("input", n, input_times, false)];
    if with_ivectors {
        let indexes = (0..n).map(|n| Index::new(n, 0, 0)).collect();
        inputs.push(IoSpecification { name: "ivector".to_string(), indexes, has_deriv: false });
    }
    let outputs = vec![IoSpecification::new("output", n, output_times, false)];
    ComputationRequest { inputs, outputs, ..Default::default() }
}
