//! Training examples: making, copying, shuffling, merging.

include!(concat!(env!("OUT_DIR"), "/examples.rs"));
