//! Training of networks, diagnostics, combination of models.

mod discriminative;

include!(concat!(env!("OUT_DIR"), "/training.rs"));
