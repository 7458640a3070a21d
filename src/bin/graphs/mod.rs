//! Decoding and training graphs: language models, context, HMMs, supervision.

mod named;
mod training_graphs;

include!(concat!(env!("OUT_DIR"), "/graphs.rs"));
