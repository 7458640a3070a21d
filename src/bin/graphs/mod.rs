//! Decoding and training graphs: language models, context, HMMs, supervision.

mod training_graphs;

include!(concat!(env!("OUT_DIR"), "/graphs.rs"));
