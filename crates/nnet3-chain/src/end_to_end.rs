//! Makes end-to-end examples: whole utterances with a training graph as supervision, without times.

use kaldi_fst::{Fst, ops};
use kaldi_hmm::TransitionModel;
use kaldi_io::GeneralMatrix;
use kaldi_io::matrix::DenseMatrix;
use nnet3_core::CRand;
use nnet3_train::chunk::{ChunkOptions, chunk_inputs};
use nnet3_train::split::{Chunk, SplitOptions, parse_sizes};
use nnet3_train::{Error, Result};

use crate::example::{NnetChainExample, NnetChainSupervision};
use crate::normalize::Normalization;
use crate::supervision::{Graph, Supervision};
use crate::transition_graph::to_pdfs;

/// Frames by which an utterance may be shorter or longer than one of the allowed lengths.
const MOST_FRAMES_OFF: usize = 4;

/// Maker of end-to-end examples.
pub struct EndToEnd<'m> {
    options: ChunkOptions,
    transitions: &'m TransitionModel,
    /// Without this, examples are to be normalized later.
    normalization: Option<Normalization>,
    /// Frames that an example may have.
    lengths: Vec<usize>,
    rounding: Option<String>,
    left_context: usize,
    right_context: usize,
    subsampling: usize,
    rand: CRand,
}

/// The data of an utterance.
#[derive(Debug, Clone, Copy)]
pub struct EndToEndUtterance<'a> {
    pub key: &'a str,
    pub features: &'a GeneralMatrix,
    pub ivectors: Option<&'a DenseMatrix<f32>>,
    /// Its inputs are transition-ids.
    pub training_graph: &'a Fst,
}

/// The result of an utterance.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EndToEndMade {
    /// `None` if the utterance is left out. The last warning gives the reason.
    pub example: Option<NnetChainExample>,
    pub warnings: Vec<String>,
}

impl<'m> EndToEnd<'m> {
    /// Makes the tool. `split` gives the allowed lengths of examples, and their contexts. Examples are not cut, so each
    /// one gets the left context of a first chunk and the right context of a last chunk.
    pub fn new(
        options: ChunkOptions,
        split: &SplitOptions,
        transitions: &'m TransitionModel,
        normalization: Option<Normalization>,
        seed: i32,
    ) -> Result<EndToEnd<'m>> {
        let subsampling = usize::try_from(split.frame_subsampling_factor).unwrap_or(0);
        if subsampling == 0 {
            let found = split.frame_subsampling_factor;
            return Err(Error::options(format!("`frame-subsampling-factor` must be above 0, found {found}")));
        }
        let context = |name: &str, special: i32, plain: i32| {
            let chosen = if special >= 0 { special } else { plain };
            usize::try_from(chosen)
                .map_err(|_| Error::options(format!("`{name}` must not be negative, found {plain}")))
        };
        if split.num_frames == "-1" {
            return Err(Error::options(
                "`num-frames`=-1: expected the lengths that utterances may have, separated by commas",
            ));
        }
        let (lengths, rounding) = parse_sizes(&split.num_frames, subsampling)?;
        Ok(EndToEnd {
            options,
            transitions,
            normalization,
            lengths,
            rounding,
            left_context: context("left-context", split.left_context_initial, split.left_context)?,
            right_context: context("right-context", split.right_context_final, split.right_context)?,
            subsampling,
            rand: CRand::new(seed),
        })
    }

    /// A message about lengths that are not multiples of the subsampling factor.
    pub fn rounding(&self) -> Option<&str> {
        self.rounding.as_deref()
    }

    /// The example of an utterance. The last frame is repeated, or frames at the end are left out, to reach a permitted
    /// length. If that would be too many it is an error; so are labels that the transition model does not have.
    pub fn make(&mut self, utterance: EndToEndUtterance<'_>) -> Result<EndToEndMade> {
        let EndToEndUtterance { key, features, ivectors, training_graph } = utterance;
        let frames = features.rows();
        let mut made = EndToEndMade::default();
        if let Some(message) = self.options.ivector_mismatch(key, frames, ivectors) {
            made.warnings.push(message);
            return Ok(made);
        }
        let length = self.nearest_length(frames);
        if length != frames {
            let off = frames as i64 - length as i64;
            if length.abs_diff(frames) > MOST_FRAMES_OFF {
                return Err(Error::data(format!(
                    "utterance '{key}' has {frames} frames; expected one of the lengths of `num-frames`, or up to \
                     {MOST_FRAMES_OFF} more or fewer, but {length} is the nearest"
                )));
            }
            made.warnings.push(format!(
                "No exact match found for the length of utt {key} which has length: {frames} closest allowed length is off \
                 by {off} frames. Will try to fix it.."
            ));
        }
        let output_frames = length.div_ceil(self.subsampling);
        let named = |e: Error| Error::data(format!("training graph of utterance '{key}': {e}"));
        let supervision = match self.supervision(training_graph, output_frames).map_err(named)? {
            Ok(supervision) => supervision,
            Err(why) => {
                made.warnings.push(format!("For utterance {key}, {why}"));
                return Ok(made);
            }
        };
        let supervision = match self.normalization.as_ref().map(|n| n.apply(&supervision)).transpose()? {
            None => supervision,
            Some(Ok(normalized)) => normalized,
            Some(Err(rejection)) => {
                made.warnings.push(format!(
                    "For utterance {key}, the example is written without the costs of the normalization FST: {rejection}. \
                     This should be extremely rare (a few per corpus, at most)"
                ));
                supervision
            }
        };
        let chunk = Chunk {
            first_frame: 0,
            num_frames: length,
            left_context: self.left_context,
            right_context: self.right_context,
            output_weights: Vec::new(),
        };
        let inputs = chunk_inputs(&self.options, &mut self.rand, features, ivectors, frames, &chunk)?;
        let weights = vec![1.0; output_frames];
        let output = NnetChainSupervision::for_sequence("output", supervision, self.subsampling, weights);
        let mut example = NnetChainExample { inputs, outputs: vec![output] };
        if self.options.compress {
            example.compress()?;
        }
        made.example = Some(example);
        Ok(made)
    }

    /// The first one, if two are as near.
    fn nearest_length(&self, frames: usize) -> usize {
        // There is at least one.
        self.lengths.iter().copied().min_by_key(|length| length.abs_diff(frames)).unwrap_or(frames)
    }

    /// Returns the supervision, or the reason for which the utterance has none.
    fn supervision(&self, graph: &Fst, frames: usize) -> Result<std::result::Result<Supervision, String>> {
        if frames < 2 {
            return Ok(Err(format!("there is {frames} frame of output, expected 2 at least")));
        }
        let mut fst = graph.clone();
        ops::project(&mut fst, ops::Side::Input);
        if let Err(e) = ops::remove_epsilons(&mut fst) {
            return Ok(Err(format!("the training graph has empty arcs that cannot be removed: {e}")));
        }
        let Some(shortest) = shortest_path(&fst) else {
            return Ok(Err("the training graph has no path".to_owned()));
        };
        if shortest > frames {
            return Ok(Err(format!(
                "there are too many phones for too few frames; Number of subsampled frames: {frames}, Minimum number of \
                 frames required by the fst: {shortest}"
            )));
        }
        to_pdfs(self.transitions, &mut fst)?;
        Ok(Ok(Supervision {
            weight: 1.0,
            num_sequences: 1,
            frames_per_sequence: frames,
            label_dim: self.transitions.num_pdfs() as i32,
            graph: Graph::EndToEnd(vec![fst]),
            alignment_pdfs: Vec::new(),
        }))
    }
}

/// Smallest number of arcs from the start to an end.
fn shortest_path(fst: &Fst) -> Option<usize> {
    let start = fst.start?;
    let mut seen = vec![false; fst.states.len()];
    seen[start as usize] = true;
    let (mut level, mut length) = (vec![start], 0);
    while !level.is_empty() {
        if level.iter().any(|&s| fst.state(s).is_final()) {
            return Some(length);
        }
        let mut next = Vec::new();
        for arc in level.iter().flat_map(|&s| &fst.state(s).arcs) {
            if !std::mem::replace(&mut seen[arc.next as usize], true) {
                next.push(arc.next);
            }
        }
        (level, length) = (next, length + 1);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_fst::text::parse;

    #[test]
    fn shortest_paths() {
        for (fst, expected) in [
            ("0 0 1 1\n0 1 1 1\n1 2 1 1\n0 3 2 2\n3 2 1 1\n2 2 1 1\n2\n", Some(2)),
            ("0\n", Some(0)),
            ("0 1 1 1\n1 0 1 1\n", None),
        ] {
            assert_eq!(shortest_path(&parse(fst).unwrap()), expected, "{fst}");
        }
    }
}
