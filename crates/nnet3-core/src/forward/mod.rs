//! A network over whole utterances: chunk by chunk, with context, i-vectors and scaling (spec binaries §10.1).
//!
//! Times are shifted so that each chunk's first output is at 0; chunks of one length are then one request, compiled
//! once.

pub mod batch;
mod batch_chunks;
pub mod chunk;
pub mod grouped;
pub mod looped;
mod reach;
mod runner;
pub mod scaling;

pub use batch::{BatchForward, BatchOptions};
pub use chunk::{Chunk, Chunking};
pub use grouped::GroupedForward;
pub use looped::{LoopedForward, Streaming};
pub use scaling::OutputScaling;

use crate::compile::cache::CachingCompiler;
use crate::error::{Error, Result};
use crate::execute::Executor;
use crate::nnet::Nnet;
use kaldi_io::DenseMatrix;
use nnet3_matrix::Device;
use runner::{Runner, Shape};

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
    runner: Runner<'a>,
    chunking: Chunking,
    scaling: OutputScaling,
    left_context: i32,
    right_context: i32,
}

impl<'a> Forward<'a> {
    /// An error if the network is not simple (see [`Nnet::is_simple`]) or the settings make no sense.
    /// `chunking` is used as it is; see [`Chunking::round_up`]. `nnet` lies on `device`.
    pub fn new(
        nnet: &'a Nnet,
        device: &Device,
        chunking: Chunking,
        scaling: impl Into<OutputScaling>,
        compiler: CachingCompiler,
    ) -> Result<Forward<'a>> {
        chunking.check()?;
        let (left_context, right_context) = nnet.context()?;
        let scaling = scaling.into();
        scaling.check(nnet.output_dim("output").unwrap_or(0))?;
        let runner = Runner::new(nnet, device, chunking.frame_subsampling_factor, compiler);
        Ok(Forward { runner, chunking, scaling, left_context, right_context })
    }

    /// Programs compiled so far, and the time that took.
    pub fn compiler(&self) -> &CachingCompiler {
        &self.runner.compiler
    }

    pub fn executor(&mut self) -> &mut Executor {
        &mut self.runner.executor
    }

    /// Scaled values of the node `output` for an utterance: a row for every output frame. `features` has a row for
    /// every frame. An error if dimensions do not fit the network.
    pub fn compute(
        &mut self,
        features: &DenseMatrix<f32>,
        ivectors: Ivectors<'_>,
    ) -> Result<DenseMatrix<f32>> {
        let nnet = self.runner.nnet;
        check_dims(nnet, features.cols, ivectors)?;
        let rows = self.chunking.output_rows(features.rows);
        let cols = nnet.output_dim("output").unwrap_or(0);
        let mut outputs = DenseMatrix { rows, cols, data: Vec::with_capacity(rows * cols) };
        let mut input = Vec::new();
        for chunk in self.chunking.chunks(features.rows, self.left_context, self.right_context) {
            input.clear();
            chunk.input_frames(features.rows).for_each(|t| input.extend_from_slice(features.row(t)));
            let shape = Shape {
                first_input: chunk.first_input - chunk.first_output,
                inputs: (chunk.last_input - chunk.first_input + 1) as usize,
                outputs: chunk.rows,
            };
            self.runner.run(&shape, 1, &input, ivectors.of_chunk(&chunk)?, &mut outputs.data)?;
        }
        self.scaling.apply(&mut outputs.data);
        Ok(outputs)
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
        self.check_enough(frame, MOST_MISSING_IVECTOR_FRAMES)?;
        self.at_frame(frame)
    }

    /// An error if the last i-vector is more than this many frames too early for a frame.
    fn check_enough(&self, frame: usize, most_missing: usize) -> Result<()> {
        match *self {
            Ivectors::Online { matrix, period }
                if period > 0
                    && (frame / period).saturating_sub(matrix.rows.saturating_sub(1)) * period
                        > most_missing =>
            {
                Err(Error::Execution(format!(
                    "no i-vector for frame {frame}: there are {} of them, one every {period} frames (is \
                     online-ivector-period right?)",
                    matrix.rows
                )))
            }
            _ => Ok(()),
        }
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
