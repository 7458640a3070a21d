//! Chain examples: inputs, and outputs with supervision.

use std::hash::{DefaultHasher, Hash};

use kaldi_io::holder::ObjectHolder;
use nnet3_core::Index;
use nnet3_train::example::{largest_io, num_sequences, same_structures};
use nnet3_train::{Error, Example, NnetIo, Result};

use crate::merge::merge;
use crate::supervision::Supervision;

/// One output of a chain example.
#[derive(Debug, Clone, PartialEq)]
pub struct NnetChainSupervision {
    /// Usually `output`.
    pub name: String,
    /// The indexes of the rows: the first frame of all sequences, then the second frame of all sequences, and so on.
    pub indexes: Vec<Index>,
    pub supervision: Supervision,
    /// Factors of the derivatives, for each index; empty means 1 for all.
    pub deriv_weights: Vec<f32>,
}

/// One chain example: a chunk of an utterance or, once merged, a minibatch of them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NnetChainExample {
    pub inputs: Vec<NnetIo>,
    pub outputs: Vec<NnetChainSupervision>,
}

/// Chain examples as values of a table.
pub type ChainExampleHolder = ObjectHolder<NnetChainExample>;

impl NnetChainSupervision {
    /// Fails if indexes, supervision and weights do not fit each other.
    pub fn check(&self) -> Result<()> {
        let problem = |why: String| Err(Error::data(format!("'{}': {why}", self.name)));
        if let Err(e) = self.supervision.check() {
            return problem(e.to_string());
        }
        let Supervision { num_sequences, frames_per_sequence, .. } = self.supervision;
        if frames_per_sequence < 2 {
            return problem("there must be more than one frame a sequence".to_owned());
        }
        let (found, expected) = (self.indexes.len(), self.supervision.num_frames());
        if found != expected {
            return problem(format!(
                "found {found} indexes, expected {expected} for {num_sequences} sequences of {frames_per_sequence} \
                 frames"
            ));
        }
        let first_t = i64::from(self.indexes[0].t);
        let step = i64::from(self.indexes[num_sequences].t) - first_t;
        if step <= 0 {
            return problem(format!("times must increase, but the second frame is {step} after the first"));
        }
        for (k, index) in self.indexes.iter().enumerate() {
            let (n, t) = (k % num_sequences, first_t + step * (k / num_sequences) as i64);
            if (index.n as usize, i64::from(index.t), index.x) != (n, t, 0) {
                return problem(format!(
                    "index {k} is (n={}, t={}, x={}), expected (n={n}, t={t}, x=0)",
                    index.n, index.t, index.x
                ));
            }
        }
        self.check_weights().or_else(problem)
    }

    fn check_weights(&self) -> std::result::Result<(), String> {
        let (found, expected) = (self.deriv_weights.len(), self.indexes.len());
        if found != 0 && found != expected {
            return Err(format!("found {found} weights of derivatives, expected {expected} or none"));
        }
        match self.deriv_weights.iter().find(|weight| weight.is_nan() || **weight < 0.0) {
            Some(weight) => Err(format!("a weight of derivatives is {weight}, expected no negative number")),
            None => Ok(()),
        }
    }

    /// Distance in time between neighbouring frames.
    pub(crate) fn frame_step(&self) -> Option<i32> {
        let first = self.indexes.first()?.t;
        self.indexes.iter().map(|index| index.t).find(|&t| t != first).map(|t| t - first)
    }
}

impl NnetChainExample {
    /// The output of this name.
    pub fn output(&self, name: &str) -> Option<&NnetChainSupervision> {
        self.outputs.iter().find(|output| output.name == name)
    }

    /// Returns all outputs named `output`. It is an error if there is no such output.
    pub(crate) fn main_outputs(&mut self) -> Result<Vec<&mut NnetChainSupervision>> {
        let outputs: Vec<_> = self.outputs.iter_mut().filter(|output| output.name == "output").collect();
        if outputs.is_empty() {
            return Err(Error::data("the example has no 'output'"));
        }
        Ok(outputs)
    }

    /// Compresses inputs that are stored in full.
    pub fn compress(&mut self) -> Result<()> {
        self.inputs.iter_mut().try_for_each(|io| io.features.compress()).map_err(Error::from)
    }
}

impl Example for NnetChainExample {
    fn inputs(&self) -> &[NnetIo] {
        &self.inputs
    }

    fn size(&self) -> usize {
        let outputs = self.outputs.iter().map(|output| output.indexes.len()).max();
        largest_io(&self.inputs).max(outputs.unwrap_or(0))
    }

    fn same_structure(&self, other: &Self) -> bool {
        let same =
            |a: &NnetChainSupervision, b: &NnetChainSupervision| a.name == b.name && a.indexes == b.indexes;
        same_structures(&self.inputs, &other.inputs)
            && self.outputs.len() == other.outputs.len()
            && self.outputs.iter().zip(&other.outputs).all(|(a, b)| same(a, b))
    }

    fn hash_structure(&self, hasher: &mut DefaultHasher) {
        self.inputs.iter().for_each(|io| io.hash_structure(hasher));
        for output in &self.outputs {
            output.name.hash(hasher);
            output.indexes.hash(hasher);
        }
    }

    fn without_values(&self) -> NnetChainExample {
        let output = |output: &NnetChainSupervision| NnetChainSupervision {
            name: output.name.clone(),
            indexes: output.indexes.clone(),
            supervision: Supervision {
                graph: crate::Graph::EndToEnd(Vec::new()),
                alignment_pdfs: Vec::new(),
                ..output.supervision
            },
            deriv_weights: Vec::new(),
        };
        NnetChainExample {
            inputs: self.inputs.iter().map(NnetIo::without_values).collect(),
            outputs: self.outputs.iter().map(output).collect(),
        }
    }

    /// The number of sequences that its inputs have.
    fn num_sequences(&self) -> Result<usize> {
        num_sequences(&self.inputs)
    }

    fn merge(examples: Vec<NnetChainExample>, compress: bool) -> Result<NnetChainExample> {
        merge(examples, compress)
    }
}
