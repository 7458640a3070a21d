//! Sound to outputs of the network: the half of a recogniser before its search.

use std::sync::Arc;

use kaldi_io::DenseMatrix;
use kaldi_online::{OnlineFeaturePipeline, PipelineModel, Speaker};
use nnet3_core::forward::LoopedForward;

use crate::error::{Error, Result};

/// Makes features of samples, and runs the network on them chunk by chunk.
pub(crate) struct Acoustics {
    features: Arc<PipelineModel>,
    network: LoopedForward,
    pipeline: OnlineFeaturePipeline,
    /// Outputs of the last chunk of the network, and the number of outputs before it.
    outputs: DenseMatrix<f32>,
    before: usize,
}

/// Outputs of the network for some frames of an utterance.
pub(crate) struct Chunk<'c> {
    pub outputs: &'c DenseMatrix<f32>,
    /// The output frame of the first row.
    pub first: usize,
}

impl Acoustics {
    /// Makes acoustics that are ready for an utterance of a speaker. Fails if features and network do not fit.
    pub fn new(features: Arc<PipelineModel>, speaker: Speaker, network: LoopedForward) -> Result<Acoustics> {
        network.check_inputs(features.dim(), features.ivector_dim())?;
        let pipeline = OnlineFeaturePipeline::new(features.clone(), speaker.clone())?;
        let mut acoustics =
            Acoustics { features, network, pipeline, outputs: DenseMatrix::default(), before: 0 };
        acoustics.begin(speaker)?;
        Ok(acoustics)
    }

    /// Forgets the utterance, and begins another one. `speaker` is the speaker's state after earlier utterances.
    pub fn begin(&mut self, speaker: Speaker) -> Result<()> {
        self.pipeline = OnlineFeaturePipeline::new(self.features.clone(), speaker)?;
        self.outputs = DenseMatrix::default();
        self.before = 0;
        self.network.begin()?;
        Ok(())
    }

    /// Takes the next samples, at this rate (in Hz). `last` ends the sound.
    pub fn accept(&mut self, rate: f32, samples: &[f32], last: bool) -> Result<()> {
        self.pipeline.accept(rate, samples)?;
        if last {
            self.pipeline.finish()?;
        }
        Ok(())
    }

    pub fn pipeline(&mut self) -> &mut OnlineFeaturePipeline {
        &mut self.pipeline
    }

    /// Returns the number of output frames that the samples so far allow.
    pub fn ready(&self) -> usize {
        self.network.outputs_ready(self.pipeline.frames_ready(), self.pipeline.is_finished())
    }

    /// Returns the chunk with an output frame. The frames must be asked for in their order, below [`ready`](Self::ready).
    /// Fails if the network's outputs are not numbers.
    pub fn chunk(&mut self, frame: usize) -> Result<Chunk<'_>> {
        if frame >= self.before + self.outputs.rows {
            self.compute()?;
            if let Some(found) = self.outputs.not_a_number() {
                let frame = self.before + found.row;
                return Err(Error::Data(format!("the network's output for frame {frame} is not a number")));
            }
        }
        Ok(Chunk { outputs: &self.outputs, first: self.before })
    }

    /// Runs the network on its next chunk, with the i-vector of the last frame that has one.
    fn compute(&mut self) -> Result<()> {
        let frames = self.network.next_input();
        let last = self.pipeline.frames_ready().saturating_sub(1);
        let dim = self.features.dim();
        let mut input = Vec::with_capacity(frames.len() * dim);
        for t in frames {
            let t = usize::try_from(t).unwrap_or(0).min(last);
            let Some(frame) = self.pipeline.frame(t)? else {
                return Err(Error::Data(format!(
                    "frame {t} is needed, but was discarded (see `max-feature-vectors`)"
                )));
            };
            input.extend_from_slice(frame);
        }
        let ivector = match self.pipeline.ivector(usize::MAX)? {
            Some(ivector) => Some(ivector),
            // There is no i-vector yet.
            None => self.features.ivector_dim().map(|dim| vec![0.0; dim]),
        };
        self.before += self.outputs.rows;
        self.outputs = self.network.advance(&input, ivector.as_deref())?;
        Ok(())
    }
}
