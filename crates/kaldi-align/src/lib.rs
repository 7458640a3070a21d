//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Training of Gaussian acoustic models and forced alignment, in one process.
//!
//! [`train()`](train::train) makes a [`System`] of utterances in the order of events of Kaldi's scripts: monophones, triphones, LDA+MLLT, SAT
//! (see [`recipe`]). [`System::align`] aligns utterances with it, and
//! [`System::adapt`] trains it on.
//!
//! - [`utterance`], [`features`]: the corpus, divided for threads; from cepstra to a model's features.
//! - [`phone_graph`], [`network`], [`search`]: the pronunciations of a transcript, their HMM states, and paths.
//! - [`equal`], [`loudness`]: first alignments, without a model.
//! - [`passes`]: passes over a corpus. [`estimate`], [`tree`]: updates from their sums.
//! - [`as_network`]: a system as layers of a network.
//! - [`interrupt`]: work that ends early.
//!
//! Sums have a fixed order ([`parallel`]), so results do not depend on the number of threads. This crate does not print: an
//! [`Observer`] hears of events, and each utterance that is not aligned has a [`Reason`].

pub mod adapt;
pub mod align;
pub mod as_network;
pub mod boundaries;
pub mod equal;
pub mod error;
pub mod estimate;
pub mod features;
pub mod interrupt;
pub mod loudness;
pub mod network;
pub mod observer;
pub mod parallel;
pub mod passes;
pub mod phone_graph;
pub mod random;
pub mod recipe;
pub mod search;
mod start;
pub mod store;
pub mod system;
pub mod train;
pub mod tree;
pub mod utterance;

pub use adapt::AdaptOptions;
pub use align::{Aligned, Alignment, PhoneTime, WordTime};
pub use error::{Error, Reason, Result};
pub use observer::{Event, Observer};
pub use recipe::{Amount, Recipe};
pub use system::{AlignOptions, System};
pub use train::{Trained, train};
pub use utterance::Utterance;
