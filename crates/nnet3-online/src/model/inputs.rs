//! The inputs of a model's network for a whole sound.

use kaldi_io::DenseMatrix;
use kaldi_online::{OnlineFeaturePipeline, Speaker};

use super::Model;
use crate::error::{Error, Result};
use crate::recording::piece;

/// The inputs of a network for one sound.
#[derive(Debug, Clone, PartialEq)]
pub struct Inputs {
    /// A row for each frame.
    pub features: DenseMatrix<f32>,
    /// A row for every [`IVECTOR_PERIOD`] frames, if the model has i-vectors.
    pub ivectors: Option<DenseMatrix<f32>>,
}

/// Frames between two i-vectors, as usual in Kaldi.
pub const IVECTOR_PERIOD: usize = 10;

impl Model {
    /// Makes the features of a sound, and the i-vectors if the network reads them: those of a new speaker, of the sound
    /// so far in steps of [`PIECE`](crate::PIECE) seconds. (A recogniser weighs silence besides.) Samples have the values of wave files; the rate is in Hz.
    ///
    /// # Errors
    /// A rate that does not fit the model.
    pub fn inputs(&self, rate: f32, samples: &[f32]) -> Result<Inputs> {
        let mut pipeline = OnlineFeaturePipeline::new(self.parts().features.clone(), Speaker::default())?;
        let mut features = DenseMatrix::new(0, pipeline.model().dim());
        let mut ivectors = pipeline.model().ivector_dim().map(|dim| DenseMatrix::new(0, dim));
        let mut add = |pipeline: &mut OnlineFeaturePipeline| -> Result<()> {
            while features.rows < pipeline.frames_ready() {
                let frame = features.rows;
                let dropped = || Error::Data(format!("frame {frame} was dropped before it was used"));
                features.data.extend_from_slice(pipeline.frame(frame)?.ok_or_else(dropped)?);
                features.rows += 1;
            }
            let Some(ivectors) = &mut ivectors else { return Ok(()) };
            while ivectors.rows * IVECTOR_PERIOD < pipeline.ready() {
                let Some(vector) = pipeline.ivector(ivectors.rows * IVECTOR_PERIOD)? else { break };
                ivectors.data.extend(vector);
                ivectors.rows += 1;
            }
            Ok(())
        };
        for samples in samples.chunks(piece(rate)) {
            pipeline.accept(rate, samples)?;
            add(&mut pipeline)?;
        }
        pipeline.finish()?;
        add(&mut pipeline)?;
        Ok(Inputs { features, ivectors })
    }
}
