//! I-vectors: training of extractors, and extraction.

mod derived;
mod extraction;
mod posteriors;

include!(concat!(env!("OUT_DIR"), "/ivectors.rs"));
