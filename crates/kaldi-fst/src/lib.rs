//! Weighted finite-state transducers, as OpenFst calls `VectorFst`: the files that Kaldi keeps them in ([`store`],
//! [`text`], [`holder`]) and the operations that graphs, lattices and the supervision of chain models need ([`ops`]).
//!
//! Unless something else is said, a [weight](Weight) is a cost (the tropical semiring): the smaller of two alternatives
//! counts, costs along a path add up, infinity means "not at all".

pub mod draw;
pub mod error;
pub mod flat;
pub mod fst;
pub mod holder;
pub mod info;
pub mod look_ahead;
pub mod mapped;
pub mod ngrams;
mod numbering;
mod numbers;
pub mod openfst_text;
pub mod ops;
pub mod properties;
pub mod random_paths;
pub mod store;
pub mod text;
pub mod weight;

pub use error::{Error, Result};
pub use flat::FlatFst;
pub use fst::{Arc, EPSILON, Fst, State, StateId};
pub use holder::FstHolder;
pub use look_ahead::LookAheadFst;
pub use mapped::{MappedFst, MappedState, PackedArc};
pub use ngrams::NgramFst;
pub use store::read_fst;
pub use weight::Weight;
