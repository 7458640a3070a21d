//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Weighted finite-state transducers, as OpenFst's `VectorFst`. The crate reads and writes Kaldi's files of them
//! ([`store`], [`text`], [`holder`]), and has the operations for graphs, lattices and the supervision of chain models
//! ([`ops`]).
//!
//! By default, a [weight](Weight) is a cost (the tropical semiring). Costs along a path are added, and the smaller
//! of two alternatives counts. Infinity means that there is no path.

pub mod draw;
pub mod error;
pub mod flat;
pub mod fst;
pub mod holder;
pub mod info;
pub mod labels;
mod log_weight;
pub mod look_ahead;
pub mod mapped;
pub mod ngrams;
mod numbering;
mod numbers;
pub mod openfst_text;
pub mod ops;
pub mod properties;
pub mod random_paths;
mod reach;
pub mod state_table;
pub mod store;
pub mod strings;
pub mod subsets;
pub mod text;
pub mod weight;

pub use error::{Error, Result};
pub use flat::FlatFst;
pub use fst::{Arc, EPSILON, Fst, State, StateId};
pub use holder::FstHolder;
pub use log_weight::LogWeight;
pub use look_ahead::LookAheadFst;
pub use mapped::{MappedFst, MappedState, PackedArc};
pub use ngrams::NgramFst;
pub use store::read_fst;
pub use weight::{Algebra, Divisible, Weight, quantize};
