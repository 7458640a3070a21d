//! Supervision: the wanted output of a chain example.

use kaldi_fst::{Fst, ops};
use nnet3_train::sequence::{SequenceSupervision, WeightForm};
use nnet3_train::{Error, Result};

use crate::merge::merge_supervision;

/// The right sequences of labels for one or, once merged, several sequences of frames.
#[derive(Debug, Clone, PartialEq)]
pub struct Supervision {
    /// Weight of the example.
    pub weight: f32,
    /// 1 before merging.
    pub num_sequences: usize,
    /// Frames of the output in each sequence, after subsampling.
    pub frames_per_sequence: usize,
    /// Labels are from 1 to this: pdfs plus 1 or, before they become that, transition-ids.
    pub label_dim: i32,
    pub graph: Graph,
    /// One pdf a frame, for statistics; only in end-to-end supervision before merging, and often empty.
    pub alignment_pdfs: Vec<i32>,
}

/// FSTs are acceptors with pdfs plus 1 as labels.
#[derive(Debug, Clone, PartialEq)]
pub enum Graph {
    /// An FST without cycles in which every path has one label for each frame of all sequences, one sequence after the
    /// other.
    Constrained(Fst),
    /// An FST for each sequence, without times; it may have cycles.
    EndToEnd(Vec<Fst>),
}

impl Supervision {
    /// Frames of all sequences together.
    pub fn num_frames(&self) -> usize {
        self.num_sequences * self.frames_per_sequence
    }

    /// The FSTs, one or several.
    pub fn fsts(&self) -> &[Fst] {
        match &self.graph {
            Graph::Constrained(fst) => std::slice::from_ref(fst),
            Graph::EndToEnd(fsts) => fsts,
        }
    }

    pub(crate) fn fsts_mut(&mut self) -> &mut [Fst] {
        match &mut self.graph {
            Graph::Constrained(fst) => std::slice::from_mut(fst),
            Graph::EndToEnd(fsts) => fsts,
        }
    }

    /// Checks that the parts agree with the fields. Reading and writing call this.
    pub fn check(&self) -> Result<()> {
        if !self.weight.is_finite() {
            return Err(Error::data(format!("the supervision has the weight {}", self.weight)));
        }
        let Supervision { num_sequences, frames_per_sequence, label_dim, .. } = *self;
        if num_sequences == 0 || frames_per_sequence == 0 || label_dim <= 0 {
            return Err(Error::data(format!(
                "the supervision is for {num_sequences} sequences of {frames_per_sequence} frames and labels up to \
                 {label_dim}"
            )));
        }
        for fst in self.fsts() {
            let problem = |e: kaldi_fst::Error| Error::data(format!("supervision FST: {e}"));
            fst.check_acceptor().map_err(problem)?;
            let label = fst.largest_label();
            if label > label_dim {
                return Err(Error::data(format!(
                    "supervision FST: found the label {label}, expected labels up to {label_dim}"
                )));
            }
        }
        match &self.graph {
            Graph::Constrained(fst) => self.check_length(fst),
            Graph::EndToEnd(fsts) if fsts.len() != num_sequences => Err(Error::data(format!(
                "the supervision has {} FSTs for {num_sequences} sequences",
                fsts.len()
            ))),
            Graph::EndToEnd(_) => Ok(()),
        }
    }

    fn check_length(&self, fst: &Fst) -> Result<()> {
        let (_, length) = ops::state_times(fst).map_err(|e| Error::data(format!("supervision FST: {e}")))?;
        if length != self.num_frames() {
            return Err(Error::data(format!(
                "supervision FST: paths have {length} labels, expected {} for {} sequences of {} frames",
                self.num_frames(),
                self.num_sequences,
                self.frames_per_sequence
            )));
        }
        Ok(())
    }
}

impl SequenceSupervision for Supervision {
    const EXAMPLE_TOKENS: [&'static str; 2] = ["<Nnet3ChainEg>", "</Nnet3ChainEg>"];
    const OUTPUT_TOKENS: [&'static str; 2] = ["<NnetChainSup>", "</NnetChainSup>"];
    const WEIGHT_FORM: WeightForm = WeightForm::Floats;

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
        usize::try_from(self.label_dim).ok()
    }

    fn check(&self) -> Result<()> {
        Supervision::check(self)
    }

    fn without_values(&self) -> Supervision {
        Supervision { graph: Graph::EndToEnd(Vec::new()), alignment_pdfs: Vec::new(), ..*self }
    }

    fn merge(all: Vec<Supervision>) -> Result<Supervision> {
        merge_supervision(all)
    }
}
