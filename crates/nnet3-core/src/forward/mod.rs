//! A network over whole utterances: chunk by chunk, with context, i-vectors and scaling (spec binaries §10.1).
//!
//! Times are shifted so that each chunk's first output is at 0; chunks of one length are then one request, compiled
//! once.

pub mod chunk;
pub mod looped;

pub use chunk::{Chunk, Chunking};
pub use looped::{LoopedForward, Streaming};

use crate::compile::cache::CachingCompiler;
use crate::error::{Error, Result};
use crate::execute::{Executor, Model};
use crate::index::Index;
use crate::nnet::Nnet;
use crate::random::Random;
use crate::request::{ComputationRequest, IoSpecification};
use kaldi_io::DenseMatrix;
use nnet3_matrix::Device;

/// An i-vector may be this many frames too short for its utterance.
const MOST_MISSING_IVECTOR_FRAMES: usize = 50;

/// What tells the network who is speaking.
#[derive(Clone, Copy, Debug)]
pub enum Ivectors<'a> {
    None,
    /// One vector for the utterance.
    Utterance(&'a [f32]),
    /// A row for every `period` frames.
    Online {
        matrix: &'a DenseMatrix<f32>,
        period: usize,
    },
}

/// Runs one network on utterances, one after another. The network should be in test mode.
pub struct Forward<'a> {
    nnet: &'a Nnet,
    chunking: Chunking,
    /// Multiplies the outputs.
    scale: f32,
    left_context: i32,
    right_context: i32,
    compiler: CachingCompiler,
    executor: Executor,
    random: Random,
}

impl<'a> Forward<'a> {
    /// An error if the network is not simple (see [`Nnet::is_simple`]) or the settings make no sense.
    /// `chunking` is used as it is; see [`Chunking::round_up`]. `nnet` lies on `device`.
    pub fn new(
        nnet: &'a Nnet,
        device: &Device,
        chunking: Chunking,
        scale: f32,
        compiler: CachingCompiler,
    ) -> Result<Forward<'a>> {
        chunking.check()?;
        let (left_context, right_context) = nnet.context()?;
        Ok(Forward {
            nnet,
            chunking,
            scale,
            left_context,
            right_context,
            compiler,
            executor: Executor::new(device),
            random: Random::new(0),
        })
    }

    /// Programs compiled so far, and the time that took.
    pub fn compiler(&self) -> &CachingCompiler {
        &self.compiler
    }

    pub fn executor(&mut self) -> &mut Executor {
        &mut self.executor
    }

    /// Scaled values of the node `output` for an utterance: a row for every output frame. `features` has a row for
    /// every frame. An error if dimensions do not fit the network.
    pub fn compute(
        &mut self,
        features: &DenseMatrix<f32>,
        ivectors: Ivectors<'_>,
    ) -> Result<DenseMatrix<f32>> {
        check_dims(self.nnet, features.cols, ivectors)?;
        let rows = self.chunking.output_rows(features.rows);
        let cols = self.nnet.output_dim("output").unwrap_or(0);
        let mut outputs = DenseMatrix { rows, cols, data: Vec::with_capacity(rows * cols) };
        let mut input = Vec::new();
        for chunk in self.chunking.chunks(features.rows, self.left_context, self.right_context) {
            input.clear();
            chunk.input_frames(features.rows).for_each(|t| input.extend_from_slice(features.row(t)));
            let ivector = ivectors.of_chunk(&chunk)?;
            self.compute_chunk(&chunk, &input, ivector, &mut outputs.data)?;
        }
        if self.scale != 1.0 {
            outputs.data.iter_mut().for_each(|value| *value *= self.scale);
        }
        Ok(outputs)
    }

    fn compute_chunk(
        &mut self,
        chunk: &Chunk,
        input: &[f32],
        ivector: Option<&[f32]>,
        outputs: &mut Vec<f32>,
    ) -> Result<()> {
        let program = self.compiler.program(self.nnet, &self.request(chunk, ivector.is_some()))?;
        let (nnet, executor) = (self.nnet, &mut self.executor);
        executor.start(&program);
        let frames = (chunk.last_input - chunk.first_input + 1) as usize;
        executor.accept_input(nnet, "input", frames, input.len() / frames, input)?;
        if let Some(ivector) = ivector {
            executor.accept_input(nnet, "ivector", 1, ivector.len(), ivector)?;
        }
        executor.run(&mut Model::Frozen(nnet), &self.random)?;
        let output = executor.output(nnet, "output")?;
        let first = outputs.len();
        outputs.resize(first + output.rows() * output.cols(), 0.0);
        executor.device().download_into(output, &mut outputs[first..]);
        Ok(())
    }

    fn request(&self, chunk: &Chunk, with_ivector: bool) -> ComputationRequest {
        let shifted = |t: i32| t - chunk.first_output;
        let step = self.chunking.frame_subsampling_factor as usize;
        let input_times = shifted(chunk.first_input)..shifted(chunk.last_input) + 1;
        let output_times = (0..=shifted(chunk.last_output)).step_by(step);
        let mut inputs = vec![IoSpecification::new("input", 1, input_times, false)];
        if with_ivector {
            let indexes = vec![Index::new(0, 0, 0)];
            inputs.push(IoSpecification { name: "ivector".to_string(), indexes, has_deriv: false });
        }
        let outputs = vec![IoSpecification::new("output", 1, output_times, false)];
        ComputationRequest { inputs, outputs, ..Default::default() }
    }
}

/// What is given for the inputs `input` and `ivector` must be what the network has.
fn check_dims(nnet: &Nnet, feature_dim: usize, ivectors: Ivectors<'_>) -> Result<()> {
    check_dim(nnet, "input", Some(feature_dim))?;
    check_dim(nnet, "ivector", ivectors.dim())
}

/// What is given (`None`: nothing) for the input node `node` must be what the network has.
fn check_dim(nnet: &Nnet, node: &str, given: Option<usize>) -> Result<()> {
    let expected = nnet.input_dim(node);
    if expected == given {
        return Ok(());
    }
    Err(Error::Execution(match (expected, given) {
        (Some(expected), Some(given)) => format!(
            "the network's input-node '{node}' has dimension {expected}, but the features given for it have {given} \
             columns"
        ),
        (Some(expected), None) => {
            format!(
                "the network has an input-node '{node}' (dimension {expected}), but nothing is given for it"
            )
        }
        (None, _) => format!("features are given for '{node}', but the network has no such input-node"),
    }))
}

impl<'a> Ivectors<'a> {
    fn dim(&self) -> Option<usize> {
        match self {
            Ivectors::None => None,
            Ivectors::Utterance(vector) => Some(vector.len()),
            Ivectors::Online { matrix, .. } => Some(matrix.cols),
        }
    }

    /// The i-vector for a chunk: of online ones, that of the chunk's middle.
    fn of_chunk(&self, chunk: &Chunk) -> Result<Option<&'a [f32]>> {
        let frame = (chunk.first_output + (chunk.last_output - chunk.first_output) / 2) as usize;
        if let Ivectors::Online { matrix, period } = *self
            && period > 0
            && (frame / period).saturating_sub(matrix.rows.saturating_sub(1)) * period
                > MOST_MISSING_IVECTOR_FRAMES
        {
            return Err(Error::Execution(format!(
                "no i-vector for frame {frame}: there are {} of them, one every {period} frames (is \
                 online-ivector-period right?)",
                matrix.rows
            )));
        }
        self.at_frame(frame)
    }

    /// The i-vector that was current at this frame, or the last one.
    fn at_frame(&self, frame: usize) -> Result<Option<&'a [f32]>> {
        match *self {
            Ivectors::None => Ok(None),
            Ivectors::Utterance(vector) => Ok(Some(vector)),
            Ivectors::Online { period: 0, .. } => Err(Error::Execution(
                "online i-vectors need a period (online-ivector-period) greater than 0".to_string(),
            )),
            Ivectors::Online { matrix, .. } if matrix.rows == 0 => {
                Err(Error::Execution("the matrix of online i-vectors has no rows".to_string()))
            }
            Ivectors::Online { matrix, period } => {
                Ok(Some(matrix.row((frame / period).min(matrix.rows - 1))))
            }
        }
    }
}

#[cfg(test)]
mod tests;
