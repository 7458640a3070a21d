//! The supervision of an output: an alignment and a denominator lattice.

use kaldi_fst::{EPSILON, ops};
use nnet3_decode::lattice::check_weights;
use nnet3_decode::times::state_times;
use nnet3_decode::{Lattice, order};
use nnet3_train::sequence::{SequenceSupervision, WeightForm};
use nnet3_train::{Error, Result};

use crate::merge::merge_supervision;

/// The alignment and the competing paths (a lattice) of one sequence of frames, or of several once merged. Frame τ of
/// alignment and lattice is frame τ mod T of sequence τ div T, with T frames per sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Supervision {
    /// The factor on objective and derivatives.
    pub weight: f32,
    /// 1 before merging.
    pub num_sequences: usize,
    /// Frames of the output in each sequence, after subsampling.
    pub frames_per_sequence: usize,
    /// The transition-id of each frame, sequence after sequence.
    pub alignment: Vec<i32>,
    /// The denominator: a sorted lattice with transition-ids on the input side. Every path has one for each frame.
    pub lattice: Lattice,
}

impl Supervision {
    /// Makes the supervision of an utterance. The lattice is sorted, and states on no path are removed.
    ///
    /// # Errors
    /// The lattice has a cycle, no path, or paths of another length than the alignment.
    pub fn new(alignment: Vec<i32>, mut lattice: Lattice, weight: f32) -> Result<Supervision> {
        ops::connect(&mut lattice);
        order::sort(&mut lattice).map_err(lattice_error)?;
        let (num_sequences, frames_per_sequence) = (1, alignment.len());
        let supervision = Supervision { weight, num_sequences, frames_per_sequence, alignment, lattice };
        supervision.check()?;
        Ok(supervision)
    }

    /// Frames of all sequences together.
    pub fn num_frames(&self) -> usize {
        self.num_sequences * self.frames_per_sequence
    }

    /// Returns an error if anything is not as the fields say. Transition-ids are compared with a model when the
    /// objective is evaluated.
    pub fn check(&self) -> Result<()> {
        let Supervision { weight, num_sequences, frames_per_sequence, .. } = *self;
        if !weight.is_finite() {
            return Err(Error::data(format!("the supervision has the weight {weight}")));
        }
        let frames = num_sequences.checked_mul(frames_per_sequence).filter(|&frames| frames > 0);
        if frames != Some(self.alignment.len()) {
            return Err(Error::data(format!(
                "the alignment has {} frames, expected {num_sequences} sequences of {frames_per_sequence}",
                self.alignment.len()
            )));
        }
        if let Some(id) = self.alignment.iter().find(|&&id| id <= 0) {
            return Err(Error::data(format!(
                "the alignment has the transition-id {id}, expected a number above 0"
            )));
        }
        self.check_lattice()
    }

    fn check_lattice(&self) -> Result<()> {
        let lattice = &self.lattice;
        if lattice.start.is_none() {
            return Err(lattice_error(nnet3_decode::Error::Empty));
        }
        check_weights(lattice).map_err(lattice_error)?;
        let (times, length) = state_times(lattice).map_err(lattice_error)?;
        let frames = self.num_frames();
        if length != frames {
            return Err(Error::data(format!(
                "denominator lattice: it has {length} frames, but the alignment {frames}"
            )));
        }
        for ((number, state), &time) in lattice.numbered().zip(&times) {
            let Some(time) = time else { continue };
            if time >= frames && state.arcs.iter().any(|arc| arc.ilabel != EPSILON) {
                return Err(Error::data(format!(
                    "denominator lattice: state {number} is reached after all {frames} frames, but goes on"
                )));
            }
        }
        // (Sequences are joined where their paths end.)
        if !lattice.states.iter().zip(&times).any(|(state, time)| state.is_final() && time.is_some()) {
            return Err(lattice_error(nnet3_decode::Error::NoPath));
        }
        Ok(())
    }
}

/// An error about the lattice of the supervision.
pub(crate) fn lattice_error(e: nnet3_decode::Error) -> Error {
    Error::data(format!("denominator lattice: {e}"))
}

impl SequenceSupervision for Supervision {
    const EXAMPLE_TOKENS: [&'static str; 2] = ["<Nnet3DiscriminativeEg>", "</Nnet3DiscriminativeEg>"];
    const OUTPUT_TOKENS: [&'static str; 2] = ["<NnetDiscriminativeSup>", "</NnetDiscriminativeSup>"];
    const WEIGHT_FORM: WeightForm = WeightForm::Bytes;

    fn num_sequences(&self) -> usize {
        self.num_sequences
    }

    fn frames_per_sequence(&self) -> usize {
        self.frames_per_sequence
    }

    fn weight_mut(&mut self) -> &mut f32 {
        &mut self.weight
    }

    fn output_dim(&self) -> Option<usize> {
        None
    }

    fn check(&self) -> Result<()> {
        Supervision::check(self)
    }

    fn without_values(&self) -> Supervision {
        Supervision { alignment: Vec::new(), lattice: Lattice::default(), ..*self }
    }

    fn merge(all: Vec<Supervision>) -> Result<Supervision> {
        merge_supervision(all)
    }
}
