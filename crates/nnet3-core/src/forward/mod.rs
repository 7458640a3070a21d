//! A network over whole utterances: chunk by chunk, with context, i-vectors and scaling.
//!
//! Times are shifted so that each chunk's first output is at 0; chunks of one length are then one request, compiled
//! once.

pub mod batch;
mod batch_chunks;
pub mod chunk;
pub mod grouped;
pub mod looped;
#[cfg(test)]
mod one_by_one;
mod reach;
mod runner;
pub mod scaling;
pub mod stepwise;
pub mod xvector;

pub use batch::{BatchForward, BatchOptions};
pub use chunk::{Chunk, Chunking};
pub use grouped::GroupedForward;
pub use looped::{LoopedForward, LoopedProgram, Streaming};
#[cfg(test)]
pub(crate) use one_by_one::Forward;
pub use scaling::OutputScaling;
pub use stepwise::{StepForward, StepState};

use kaldi_io::DenseMatrix;
use nnet3_base::error::{Error, Result};
use nnet3_network::Nnet;

/// An i-vector may be this many frames too short for its utterance.
const MOST_MISSING_IVECTOR_FRAMES: usize = 50;

/// The i-vectors: the input that describes the speaker.
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

/// Checks that the dimensions given for the inputs `input` and `ivector` are those of the network.
fn check_dims(nnet: &Nnet, feature_dim: usize, ivectors: Ivectors<'_>) -> Result<()> {
    check_dim(nnet, "input", Some(feature_dim))?;
    check_dim(nnet, "ivector", ivectors.dim())
}

/// Checks that the dimension given for the input node `node` (`None`: not given) is that of the network.
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

    /// Returns the i-vector for a chunk: that of the utterance, or the online one at the chunk's middle.
    fn of_chunk(&self, chunk: &Chunk) -> Result<Option<&'a [f32]>> {
        let frame = (chunk.first_output + (chunk.last_output - chunk.first_output) / 2) as usize;
        self.check_enough(frame, MOST_MISSING_IVECTOR_FRAMES)?;
        self.at_frame(frame)
    }

    /// Fails if the last i-vector is more than this many frames too early for a frame.
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
