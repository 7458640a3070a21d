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

pub mod accuracy;
pub mod acoustic;
pub mod align;
pub mod combine;
pub mod compose;
pub mod compose_states;
pub mod costs;
pub mod cover;
pub mod decoder;
pub mod determinize;
pub mod difference;
pub mod edit_distance;
pub mod ending;
pub mod equivalence;
pub mod error;
pub mod expansion;
pub mod lattice;
pub mod lm;
pub mod mbr;
pub mod oracle;
pub mod order;
pub mod path;
pub mod phones;
pub mod posterior;
pub mod pronunciation;
pub mod prune;
pub mod push;
pub mod rescore;
pub mod rescore_pruned;
pub mod store;
pub mod times;
pub mod weight;

pub use error::{Error, Result};
pub use lattice::{AnyLattice, CompactArc, CompactLattice, Lattice, LatticeArc, Scale};
pub use store::{CompactLatticeHolder, LatticeHolder};
pub use weight::{CompactLatticeWeight, LatticeWeight};
