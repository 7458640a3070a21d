//! Chain models (lattice-free MMI): their examples and the supervision in them.
//!
//! A chain example has the same inputs as other examples. Its outputs have a [`Supervision`] in place of targets: an
//! FST of the correct sequences of pdfs. `nnet3-train` has the common part of all kinds of examples; this crate has the
//! differences: files, merging, copying. [`objective`] is the training objective of chain models. Its [`denominator`]
//! is the same for all examples; its numerator comes from their supervision. [`training`] gives the objective to the
//! trainer. [`normalize`] gives supervision the costs of the denominator graph; [`chunk`] and [`end_to_end`] make
//! examples of utterances; [`language`] is for examples of several languages in one table.

pub mod chunk;
mod copy;
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
