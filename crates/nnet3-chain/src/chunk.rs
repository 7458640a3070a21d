//! Making chain examples from the features and supervision of an utterance.

use std::hash::{DefaultHasher, Hash, Hasher};

use kaldi_hmm::TransitionModel;
use kaldi_io::GeneralMatrix;
use kaldi_io::matrix::DenseMatrix;
use nnet3_train::chunk::{ChunkOptions, chunk_inputs};
use nnet3_train::finite::inputs_not_finite;
use nnet3_train::split::{Chunk, UtteranceSplitter};
use nnet3_train::{Error, Result};

use crate::example::{NnetChainExample, NnetChainSupervision};
use crate::normalize::Normalization;
use crate::split::SupervisionSplitter;
use crate::supervision::Supervision;
use crate::unconstrained::unconstrained;

/// Options for making chain examples, apart from the cutting of utterances.
pub struct ChainChunks<'m> {
    /// `targets_length_tolerance` is how many output frames the supervision, and weights of derivatives, may differ.
    pub options: ChunkOptions,
    /// Adds the number of frames to the keys.
    pub long_keys: bool,
    /// Without this, examples are to be normalized later.
    pub normalization: Option<Normalization>,
    /// If set, supervision with transition-ids as labels loses its times within chunks.
    pub transitions: Option<&'m TransitionModel>,
    /// Seed for the random paths that statistics use as the alignment of such supervision.
    pub seed: i32,
}

/// The data of an utterance.
#[derive(Debug, Clone, Copy)]
pub struct ChainUtterance<'a> {
    pub key: &'a str,
    pub features: &'a GeneralMatrix,
    pub ivectors: Option<&'a DenseMatrix<f32>>,
    pub supervision: &'a Supervision,
    /// The weight of each output frame; frames beyond the last one have weight 0.
    pub deriv_weights: Option<&'a [f32]>,
}

/// The result of cutting an utterance.
#[derive(Debug, Clone, PartialEq)]
pub enum ChainCut {
    /// Examples with their keys, and messages about chunks that are not as they should be.
    Examples { examples: Vec<(String, NnetChainExample)>, warnings: Vec<String> },
    /// No chunk fits; the message gives the reason.
    TooShort(String),
    /// The parts of the utterance do not fit each other; the message names them.
    Rejected(String),
}

impl ChainUtterance<'_> {
    /// Describes the first NaN, infinity or invalid weight of the utterance.
    pub fn not_finite(&self) -> Option<String> {
        let weights = || {
            let (frame, weight) =
                self.deriv_weights?.iter().enumerate().find(|(_, w)| !(w.is_finite() && **w >= 0.0))?;
            let value = if weight.is_nan() { "nan".to_owned() } else { weight.to_string() };
            Some(format!(
                "weights of derivatives of utterance {}: frame {frame} has the value {value}, expected 0 or more",
                self.key
            ))
        };
        inputs_not_finite(self.key, self.features, self.ivectors).or_else(weights)
    }
}

impl ChainChunks<'_> {
    /// Cuts an utterance. It is an error if the supervision is damaged, or is of another kind than the options say.
    pub fn cut(&self, splitter: &mut UtteranceSplitter, utterance: ChainUtterance<'_>) -> Result<ChainCut> {
        let ChainUtterance { key, features, ivectors, supervision, deriv_weights } = utterance;
        let named = |e: Error| Error::data(format!("supervision of utterance '{key}': {e}"));
        let parts = SupervisionSplitter::new(supervision).map_err(named)?;
        let supervised = supervision.frames_per_sequence;
        let rows = features.rows();
        let tolerance = self.options.targets_length_tolerance;
        let mismatch = self
            .options
            .ivector_mismatch(key, rows, ivectors)
            .or_else(|| splitter.length_mismatch(key, rows, supervised, tolerance));
        if let Some(message) = mismatch {
            return Ok(ChainCut::Rejected(message));
        }
        if let Some(weights) =
            deriv_weights.filter(|w| w.len().abs_diff(supervised) as i64 > i64::from(tolerance))
        {
            return Ok(ChainCut::Rejected(format!(
                "For utterance {key}, mismatch between deriv-weights dim and num-output-frames; {} versus {supervised}",
                weights.len()
            )));
        }
        let frames = rows.min(supervised * splitter.subsampling());
        let chunks = splitter.split(frames);
        if chunks.is_empty() {
            return Ok(ChainCut::TooShort(format!(
                "Not producing egs for utterance {key} because it is too short: {frames} frames."
            )));
        }
        if let Some(chunk) = chunks.iter().find(|chunk| chunk.output_weights.len() < 2) {
            return Ok(ChainCut::TooShort(format!(
                "Not producing egs for utterance {key}: a chunk of {} frames has {} frames of output, expected 2 at least",
                chunk.num_frames,
                chunk.output_weights.len()
            )));
        }
        let (mut examples, mut warnings) = (Vec::with_capacity(chunks.len()), Vec::new());
        for chunk in &chunks {
            let made = self.supervision(splitter, &parts, key, chunk).map_err(named)?;
            let range =
                format!("feature frames {} to {}", chunk.first_frame, chunk.first_frame + chunk.num_frames);
            warnings.extend(made.warning.map(|why| format!("For utterance {key}, {range}, {why}")));
            let Some(supervision) = made.supervision else { continue };
            let output = output(splitter, supervision, chunk, deriv_weights);
            let inputs = chunk_inputs(&self.options, splitter.rand(), features, ivectors, frames, chunk)?;
            let mut example = NnetChainExample { inputs, outputs: vec![output] };
            if self.options.compress {
                example.compress()?;
            }
            examples.push((self.key(key, chunk), example));
        }
        Ok(ChainCut::Examples { examples, warnings })
    }

    fn key(&self, utterance: &str, chunk: &Chunk) -> String {
        let Chunk { first_frame, num_frames, left_context, right_context, .. } = chunk;
        if self.long_keys {
            format!("{utterance}-{first_frame}-{left_context}-{num_frames}-{right_context}-v1")
        } else {
            format!("{utterance}-{first_frame}")
        }
    }

    fn supervision(
        &self,
        splitter: &UtteranceSplitter,
        parts: &SupervisionSplitter<'_>,
        utterance: &str,
        chunk: &Chunk,
    ) -> Result<Made> {
        let first = chunk.first_frame / splitter.subsampling();
        let mut part = parts.part(first..first + chunk.output_weights.len())?;
        if let Some(transitions) = self.transitions {
            let mut hasher = DefaultHasher::new();
            (self.seed, utterance, chunk.first_frame).hash(&mut hasher);
            match unconstrained(&part, transitions, hasher.finish())? {
                Ok(supervision) => part = supervision,
                Err(rejection) => {
                    let warning = format!("the chunk is left out: {rejection}");
                    return Ok(Made { supervision: None, warning: Some(warning) });
                }
            }
        }
        let Some(normalization) = &self.normalization else {
            return Ok(Made { supervision: Some(part), warning: None });
        };
        Ok(match normalization.apply(&part)? {
            Ok(supervision) => Made { supervision: Some(supervision), warning: None },
            Err(rejection) => {
                let warning = format!(
                    "the example is written without the costs of the normalization FST: {rejection}. This should be \
                     extremely rare (a few per corpus, at most)"
                );
                Made { supervision: Some(part), warning: Some(warning) }
            }
        })
    }
}

/// The supervision of a chunk, unless it is to be left out.
struct Made {
    supervision: Option<Supervision>,
    warning: Option<String>,
}

fn output(
    splitter: &UtteranceSplitter,
    supervision: Supervision,
    chunk: &Chunk,
    deriv_weights: Option<&[f32]>,
) -> NnetChainSupervision {
    let first = chunk.first_frame / splitter.subsampling();
    let given =
        |t: usize| deriv_weights.map_or(1.0, |weights| weights.get(first + t).copied().unwrap_or(0.0));
    let weights = chunk.output_weights.iter().enumerate().map(|(t, weight)| weight * given(t)).collect();
    NnetChainSupervision::for_sequence("output", supervision, splitter.subsampling(), weights)
}
