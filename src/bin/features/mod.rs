//! Features: from sound, normalisation, splicing, selection, copying.

mod extraction;
mod files;
mod pitch;

include!(concat!(env!("OUT_DIR"), "/features.rs"));
