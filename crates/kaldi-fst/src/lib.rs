//! Weighted finite-state transducers over the tropical semiring, as OpenFst calls `StdVectorFst`: the files that Kaldi
//! keeps them in ([`store`], [`text`], [`holder`]) and the operations that the supervision of chain models needs
//! ([`ops`]).
//!
//! A weight is a cost: the smaller of two alternatives counts, costs along a path add up, infinity means "not at all".

pub mod error;
pub mod fst;
pub mod holder;
pub mod ops;
pub mod properties;
pub mod store;
pub mod text;

pub use error::{Error, Result};
pub use fst::{Arc, EPSILON, Fst, State, StateId};
pub use holder::FstHolder;
pub use store::read_fst;
