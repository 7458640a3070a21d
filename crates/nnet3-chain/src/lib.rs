//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Chain models (lattice-free MMI): their examples and the supervision in them.
//!
//! A chain example has inputs like any other. In place of targets, its outputs have a [`Supervision`]: an FST of the valid sequences of pdfs.
//! Parts that all kinds of supervision share are in [`nnet3_train::sequence`]; files and merging are here. [`objective`] is the
//! training objective: a [`denominator`] that is the same for all examples, and a numerator from their supervision. [`training`] gives it to
//! the trainer. [`normalize`] gives supervision the costs of the denominator graph. [`chunk`] and [`end_to_end`] make examples of utterances.
//! [`language`] is for examples of several languages in one table.

pub mod chunk;
pub mod denominator;
pub mod end_to_end;
pub mod example;
pub mod language;
mod merge;
pub mod normalize;
mod numerator;
pub mod objective;
pub mod phone_lm;
pub mod posteriors;
pub mod proto;
pub mod split;
pub mod store;
pub mod supervision;
pub mod training;
pub mod transition_graph;
pub mod unconstrained;

pub use denominator::DenominatorGraph;
pub use example::{ChainExampleHolder, NnetChainExample, NnetChainSupervision};
pub use objective::{ChainObjective, ChainOptions, ChainScratch, ObjectiveTimes, evaluate};
pub use supervision::{Graph, Supervision};
pub use transition_graph::PhoneModel;
