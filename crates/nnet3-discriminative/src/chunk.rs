//! Making examples from the features, the lattice and the alignment of an utterance.

use kaldi_hmm::TransitionModel;
use kaldi_io::GeneralMatrix;
use kaldi_io::matrix::DenseMatrix;
use nnet3_decode::Lattice;
use nnet3_train::chunk::{ChunkOptions, chunk_inputs};
use nnet3_train::split::UtteranceSplitter;
use nnet3_train::{Error, Result};

use crate::split::{LatticeSplitter, SplitOptions};
use crate::supervision::{Supervision, lattice_error};
use crate::{NnetDiscriminativeExample, NnetDiscriminativeSupervision};

/// The upper end of a number that the reference draws for each example.
const LAST_UNCHECKED: i32 = 5;

/// Options of examples, besides those of the splitter.
pub struct DiscriminativeChunks<'m> {
    pub options: ChunkOptions,
    pub split: SplitOptions,
    pub model: &'m TransitionModel,
}

/// The data of an utterance.
#[derive(Clone, Copy)]
pub struct DiscriminativeUtterance<'a> {
    pub key: &'a str,
    pub features: &'a GeneralMatrix,
    pub ivectors: Option<&'a DenseMatrix<f32>>,
    pub lattice: &'a Lattice,
    pub alignment: &'a [i32],
}

/// Results of cutting an utterance.
#[derive(Debug, Clone, PartialEq)]
pub enum DiscriminativeCut {
    /// Keys and examples.
    Examples(Vec<(String, NnetDiscriminativeExample)>),
    /// No chunk fits. The message says so.
    TooShort(String),
    /// The parts of the utterance do not fit each other or the model. The message says which.
    Rejected(String),
}

impl DiscriminativeChunks<'_> {
    /// Cuts an utterance. Faults of the utterance reject it.
    ///
    /// # Errors
    /// The features cannot be compressed, or indexes are out of range.
    pub fn cut(
        &self,
        splitter: &mut UtteranceSplitter,
        utterance: DiscriminativeUtterance<'_>,
    ) -> Result<DiscriminativeCut> {
        let DiscriminativeUtterance { key, features, ivectors, lattice, alignment } = utterance;
        let failed = |e: Error| {
            let message = format!("Failed to convert lattice to supervision for utterance {key}: {e}");
            Ok(DiscriminativeCut::Rejected(message))
        };
        if let Err(e) = self.model.transition_ids(alignment) {
            return failed(Error::data(format!("alignment: {e}")));
        }
        let supervision = match Supervision::new(alignment.to_vec(), lattice.clone(), 1.0) {
            Ok(supervision) => supervision,
            Err(e) => return failed(e),
        };
        let frames = features.rows();
        let mismatch = self
            .options
            .ivector_mismatch(key, frames, ivectors)
            .or_else(|| splitter.length_mismatch(key, frames, supervision.frames_per_sequence, 0));
        if let Some(message) = mismatch {
            return Ok(DiscriminativeCut::Rejected(message));
        }
        let parts = match LatticeSplitter::new(&self.split, self.model, supervision.lattice) {
            Ok(parts) => parts,
            Err(e) => return failed(lattice_error(e)),
        };
        let chunks = splitter.split(frames);
        if chunks.iter().map(|chunk| chunk.output_weights.len()).min().unwrap_or(0) < 2 {
            return Ok(DiscriminativeCut::TooShort(format!(
                "Not producing egs for utterance {key} because it is too short: {frames} frames."
            )));
        }
        let mut examples = Vec::with_capacity(chunks.len());
        for (number, chunk) in chunks.iter().enumerate() {
            let first = chunk.first_frame / splitter.subsampling();
            let range = first..first + chunk.output_weights.len();
            let lattice = match parts.part(range.clone(), number > 0) {
                Ok(lattice) => lattice,
                Err(e) => return failed(lattice_error(e)),
            };
            let supervision = Supervision {
                weight: supervision.weight,
                num_sequences: 1,
                frames_per_sequence: range.len(),
                alignment: supervision.alignment[range].to_vec(),
                lattice,
            };
            let weights = chunk.output_weights.clone();
            let subsampling = splitter.subsampling();
            let output =
                NnetDiscriminativeSupervision::for_sequence("output", supervision, subsampling, weights);
            // For the sequence alone: the reference looks at one example in six whether it is in order.
            splitter.rand().int(0, LAST_UNCHECKED);
            let inputs = chunk_inputs(&self.options, splitter.rand(), features, ivectors, frames, chunk)?;
            let mut example = NnetDiscriminativeExample { inputs, outputs: vec![output] };
            if self.options.compress {
                example.compress()?;
            }
            examples.push((format!("{key}-{}", chunk.first_frame), example));
        }
        Ok(DiscriminativeCut::Examples(examples))
    }
}
