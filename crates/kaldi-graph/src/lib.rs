//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Makes decoding graphs from models (`kaldi-hmm`) with the operations on FSTs (`kaldi-fst`).
//!
//! A decoding graph is H ∘ C ∘ L ∘ G with self-loops: [`context`] is C, phones in context; [`h_transducer`] is H, the
//! HMMs without self-loops; [`self_loops`] adds those. L comes from scripts; [`arpa`] makes G from a language model.
//! [`decoding_graph`] does all of these steps. [`grammar`] handles graphs that refer to other graphs.
//! [`training`] makes the graphs that align transcripts with speech, and [`equal_align`] aligns without a model.
//! [`recover`] finds the tree of a model in its graph.
//! [`ilabels`] is the file with the phones in context that the input labels of C stand for.

pub mod arpa;
pub mod context;
pub mod decoding_graph;
pub mod equal_align;
pub mod error;
pub mod grammar;
pub mod h_transducer;
pub mod ilabels;
pub mod recover;
pub mod self_loops;
pub mod training;

pub use context::{Window, WindowContext, compose_context};
pub use decoding_graph::{DecodingGraph, compile_decoding_graph};
pub use error::{Error, Result};
pub use h_transducer::{HTransducer, make_h_transducer};
pub use ilabels::IlabelInfo;
pub use self_loops::{SelfLoops, add_self_loops};
