//! Features: from sound, normalisation, splicing, selection, copying.

mod extraction;
mod pitch;
mod files;

include!(concat!(env!("OUT_DIR"), "/features.rs"));
