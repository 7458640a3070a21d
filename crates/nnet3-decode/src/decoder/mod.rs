//! Decoding: from log-likelihoods and a graph to a lattice, or to an alignment.
//!
//! - [`graph`] has graphs as a search needs them. [`composed`] is a graph composed of two during the search, with [`grammar`] as
//!   the second. [`grammar_graph`] has graphs that refer to other graphs. [`decodable`] has sources of log-likelihoods.
//! - [`search`] is the search that leaves lattices. [`tokens`] is its memory, [`active`] the states of a frame, and
//!   [`cutoff`] the rule of pruning. [`finish`] prunes at the end and makes the lattice. [`trace`] finds the best
//!   path before the end. [`incremental`] determinizes the lattice during the search.
//! - [`viterbi`]: the search for one path, for alignments; [`align`] prepares the graphs of alignments.
//! - [`ending`]: the steps after a search, to what users get.

mod active;
pub mod align;
pub mod composed;
mod cutoff;
mod decodable;
pub mod ending;
mod finish;
pub mod grammar;
pub mod grammar_graph;
pub mod graph;
mod hcl;
pub mod incremental;
mod log_sums;
mod next_words;
pub mod options;
pub mod search;
mod shared_states;
mod tokens;
pub mod trace;
pub mod viterbi;

pub use composed::{ComposedGraph, GraphPair};
pub use decodable::{Decodable, MatrixDecodable};
pub use grammar::Grammar;
pub use grammar_graph::{ExpandedGrammar, GrammarGraph};
pub use graph::{Graph, SearchGraph, VisitedGraph};
pub use incremental::{ChunkOptions, IncrementalLattice};
pub use options::{Pruning, SearchOptions};
pub use search::LatticeDecoder;
pub use trace::{BestPath, Step};
pub use viterbi::{ViterbiDecoder, ViterbiPath};
