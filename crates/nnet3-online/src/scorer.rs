//! Outputs of a model's network for whole utterances, without a search.

use kaldi_io::DenseMatrix;

use crate::acoustics::Acoustics;
use crate::error::Result;
use crate::model::Model;

/// Makes outputs of samples. Each utterance begins with the model's initial speaker, and its i-vector is that of the whole
/// utterance.
pub struct Scorer {
    model: Model,
    acoustics: Acoustics,
}

impl Scorer {
    /// Makes a scorer for one thread.
    ///
    /// # Errors
    /// Features and network do not fit.
    pub fn new(model: &Model) -> Result<Scorer> {
        let parts = model.parts();
        let acoustics = Acoustics::new(parts.features.clone(), parts.speaker.clone(), model.network())?;
        Ok(Scorer { model: model.clone(), acoustics })
    }

    /// Returns the scaled log-likelihoods of the pdfs (columns) for all output frames (rows) of an utterance. Samples have this
    /// rate (in Hz), and values as in wave files. There are no rows if the samples are too few for a frame.
    ///
    /// # Errors
    /// The rate cannot be used, or an output is not a number.
    pub fn score(&mut self, rate: f32, samples: &[f32]) -> Result<DenseMatrix<f32>> {
        self.acoustics.begin(self.model.parts().speaker.clone())?;
        self.acoustics.accept(rate, samples, true)?;
        let mut outputs = DenseMatrix { rows: 0, cols: 0, data: Vec::new() };
        for frame in 0..self.acoustics.ready() {
            let chunk = self.acoustics.chunk(frame)?;
            outputs.cols = chunk.outputs.cols;
            outputs.data.extend_from_slice(chunk.outputs.row(frame - chunk.first));
            outputs.rows += 1;
        }
        Ok(outputs)
    }
}
