//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Lattices: the output of a decoder for an utterance, as a graph of words, times and costs.
//!
//! - [`weight`], [`lattice`], [`store`]: lattices, their two kinds, their files.
//! - [`decoder`]: the searches that make them; [`ending`]: the steps after a search.
//! - [`acoustic`]: new acoustic costs.
//! - [`order`], [`path`], [`prune`], [`posterior`]: orders and times, best paths, pruning, probabilities.
//! - [`compose`], [`combine`], [`difference`], [`expansion`], [`cover`], [`equivalence`]: operations on one or two
//!   lattices.
//! - [`rescore`], [`rescore_pruned`]: other language models.
//! - [`accuracy`]: expected frame accuracies for discriminative training. [`pronunciation`]: words, phones and their
//!   frames.

pub mod decoder;
pub mod determinize;
pub mod error;
mod lattices;
pub mod lm;
mod operations;
mod words;

pub use decoder::ending;
pub use error::{Error, Result};
pub use lattice::{AnyLattice, CompactArc, CompactLattice, Lattice, LatticeArc, Scale};
pub use lattices::{accuracy, costs, lattice, order, path, posterior, store, times, weight};
pub use lm::{rescore, rescore_pruned};
pub use operations::{
    acoustic, combine, compose, compose_states, cover, difference, equivalence, expansion, prune, push,
};
pub use store::{CompactLatticeHolder, LatticeHolder};
pub use weight::{CompactLatticeWeight, LatticeWeight};
pub use words::{align, edit_distance, mbr, oracle, phones, pronunciation};
