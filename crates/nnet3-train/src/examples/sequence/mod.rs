//! Examples whose outputs have supervision of whole sequences in the place of targets: an FST for chain models, a lattice
//! and an alignment for discriminative training. A kind of supervision implements [`SequenceSupervision`]; files, merging,
//! copying and requests are the same for all kinds.

mod copy;
mod merge;
mod report;
mod request;
mod store;

pub use report::derivatives_per_frame;
pub use request::{XENT_SUFFIX, output_request, request, xent_name};

use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash};

use kaldi_io::KaldiObject;
use nnet3_core::Index;

use crate::error::{Error, Result};
use crate::example::{Example, NnetIo, largest_io, num_sequences, same_structures};
pub use merge::differ;
use merge::merge;

/// The form of derivative weights in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeightForm {
    /// Floats.
    Floats,
    /// Bytes that stand for 0 to 1 in binary files, floats in text.
    Bytes,
}

/// Supervision for one sequence of output frames or, once merged, for several of equal length. Reading an object does not
/// [`check`](Self::check) it: the output that it belongs to does.
pub trait SequenceSupervision: KaldiObject + Clone + PartialEq + Debug + Send + Sync + 'static {
    /// The tokens around an example.
    const EXAMPLE_TOKENS: [&'static str; 2];
    /// The tokens around an output.
    const OUTPUT_TOKENS: [&'static str; 2];
    /// The form in which derivative weights are written. Both forms are read.
    const WEIGHT_FORM: WeightForm;

    /// The number of sequences, 1 before merging.
    fn num_sequences(&self) -> usize;

    /// Output frames of each sequence, after subsampling.
    fn frames_per_sequence(&self) -> usize;

    /// The factor on objective and derivatives.
    fn weight_mut(&mut self) -> &mut f32;

    /// The number of columns that the output must have. `None` if the supervision does not say.
    fn output_dim(&self) -> Option<usize>;

    /// Returns an error if the parts do not fit each other.
    fn check(&self) -> Result<()>;

    /// Returns small supervision of the same shape, which need not pass the [check](Self::check).
    fn without_values(&self) -> Self;

    /// Joins several of one sequence each, in this order. There are at least two.
    fn merge(all: Vec<Self>) -> Result<Self>;
}

/// One output of an example.
#[derive(Debug, Clone, PartialEq)]
pub struct SequenceOutput<S> {
    /// Usually `output`.
    pub name: String,
    /// The indexes of the rows: those of the first frame of all sequences, then those of the second frame, and so on.
    pub indexes: Vec<Index>,
    pub supervision: S,
    /// The factor on the derivative of each row. Empty if all are 1.
    pub deriv_weights: Vec<f32>,
}

/// One example: a chunk of an utterance or, once merged, a minibatch of chunks.
#[derive(Debug, Clone, PartialEq)]
pub struct SequenceExample<S> {
    pub inputs: Vec<NnetIo>,
    pub outputs: Vec<SequenceOutput<S>>,
}

impl<S: SequenceSupervision> SequenceOutput<S> {
    /// Makes the output of one sequence that begins at time 0, with `subsampling` frames of the input for each of the
    /// output.
    pub fn for_sequence(name: &str, supervision: S, subsampling: usize, deriv_weights: Vec<f32>) -> Self {
        let times = 0..supervision.frames_per_sequence();
        let indexes = times.map(|t| Index::new(0, (t * subsampling) as i32, 0)).collect();
        SequenceOutput { name: name.to_owned(), indexes, supervision, deriv_weights }
    }

    /// Returns an error if indexes, supervision and weights do not fit each other.
    pub fn check(&self) -> Result<()> {
        let problem = |why: String| Err(Error::data(format!("'{}': {why}", self.name)));
        if let Err(e) = self.supervision.check() {
            return problem(e.to_string());
        }
        let (num_sequences, frames) =
            (self.supervision.num_sequences(), self.supervision.frames_per_sequence());
        if frames < 2 {
            return problem("expected more than one frame in each sequence".to_owned());
        }
        let (found, expected) = (self.indexes.len(), num_sequences * frames);
        if found != expected {
            return problem(format!(
                "found {found} indexes, expected {expected} for {num_sequences} sequences of {frames} frames"
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
        let (most, range) = match S::WEIGHT_FORM {
            WeightForm::Floats => (f32::INFINITY, "no negative number"),
            WeightForm::Bytes => (1.0, "a number from 0 to 1"),
        };
        match self.deriv_weights.iter().find(|weight| !(0.0..=most).contains(*weight)) {
            Some(weight) => Err(format!("a weight of derivatives is {weight}, expected {range}")),
            None => Ok(()),
        }
    }

    /// The time from one frame to the next. `None` if all frames have one time.
    fn frame_step(&self) -> Option<i32> {
        let first = self.indexes.first()?.t;
        self.indexes.iter().map(|index| index.t).find(|&t| t != first).map(|t| t - first)
    }
}

impl<S: SequenceSupervision> SequenceExample<S> {
    /// The output of this name.
    pub fn output(&self, name: &str) -> Option<&SequenceOutput<S>> {
        self.outputs.iter().find(|output| output.name == name)
    }

    /// Returns all outputs named `output`. It is an error if there are none.
    fn main_outputs(&mut self) -> Result<Vec<&mut SequenceOutput<S>>> {
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

    /// Names and indexes of inputs and outputs.
    fn indexes(&self) -> impl Iterator<Item = (&str, &[Index])> {
        let inputs = self.inputs.iter().map(|io| (io.name.as_str(), &io.indexes[..]));
        inputs.chain(self.outputs.iter().map(|output| (output.name.as_str(), &output.indexes[..])))
    }

    /// The first input or output with several sequences, which only merged examples have.
    fn merged_part(&self) -> Option<&str> {
        self.indexes().find(|(_, indexes)| indexes.iter().any(|index| index.n != 0)).map(|(name, _)| name)
    }
}

impl<S: SequenceSupervision> Example for SequenceExample<S> {
    fn inputs(&self) -> &[NnetIo] {
        &self.inputs
    }

    fn size(&self) -> usize {
        let outputs = self.outputs.iter().map(|output| output.indexes.len()).max();
        largest_io(&self.inputs).max(outputs.unwrap_or(0))
    }

    fn same_structure(&self, other: &Self) -> bool {
        let same = |a: &SequenceOutput<S>, b: &SequenceOutput<S>| a.name == b.name && a.indexes == b.indexes;
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

    fn without_values(&self) -> Self {
        let output = |output: &SequenceOutput<S>| SequenceOutput {
            name: output.name.clone(),
            indexes: output.indexes.clone(),
            supervision: output.supervision.without_values(),
            deriv_weights: Vec::new(),
        };
        SequenceExample {
            inputs: self.inputs.iter().map(NnetIo::without_values).collect(),
            outputs: self.outputs.iter().map(output).collect(),
        }
    }

    /// The number of sequences that its inputs have.
    fn num_sequences(&self) -> Result<usize> {
        num_sequences(&self.inputs)
    }

    fn merge(examples: Vec<Self>, compress: bool) -> Result<Self> {
        merge(examples, compress)
    }
}
