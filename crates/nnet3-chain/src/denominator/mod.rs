//! The denominator of the objective: the probability of the output under the denominator graph, and the posteriors of
//! pdfs given the output. The graph's paths are all sequences of pdfs that the phone language model allows.

mod forward_backward;
mod fst;
mod graph;

pub(crate) use forward_backward::{OUTPUT_LIMIT, Posteriors, begin, memory};
pub use fst::{make_denominator_fst, make_normalization_fst, missing_pdfs};
pub use graph::{DenominatorGraph, initial_probabilities};
