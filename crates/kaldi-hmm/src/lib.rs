//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Kaldi's HMMs: topologies, phonetic decision trees, transition models, and the meaning of alignments and posteriors.
//! This crate does not know networks or features.
//!
//! A [`topology::HmmTopology`] gives the states of each phone. A [`tree::ContextDependency`] gives the pdf for a state
//! of a phone in its context. A [`transitions::TransitionModel`] lists its transition states: all combinations (phone,
//! state, pdf) that topology and tree allow. It numbers the transitions out of them from 1. These transition-ids are
//! the elements of alignments. [`update`] estimates transition probabilities; [`alignment`] and [`posterior`] convert
//! sequences of ids, and [`convert`] brings alignments into another model.

pub mod alignment;
mod build;
pub mod convert;
mod describe;
pub mod draw;
pub mod error;
pub mod event_map;
pub mod goodness;
mod leaving;
pub mod posterior;
mod store;
#[cfg(test)]
use kaldi_io::testing;
pub mod topology;
mod topology_store;
pub mod transitions;
pub mod tree;
pub mod update;

pub use error::{Error, Result, listed};
pub use topology::{HmmState, HmmTopology};
pub use transitions::{TransitionId, TransitionModel, TransitionState};
pub use tree::ContextDependency;
pub use update::strided_sum;
