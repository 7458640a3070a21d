//! Features: from sound, normalisation, splicing, selection, copying.

mod extraction;

include!(concat!(env!("OUT_DIR"), "/features.rs"));
