//! Training of networks, diagnostics, combination of models.

include!(concat!(env!("OUT_DIR"), "/training.rs"));
