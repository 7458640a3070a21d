//! Keyword search: indices of lattices, hits of keywords, scores.

include!(concat!(env!("OUT_DIR"), "/keywords.rs"));
