//! Speakers: voice activity, back ends of speaker vectors, scores, clustering.

mod grouped;
mod labels;
mod trials;

include!(concat!(env!("OUT_DIR"), "/speakers.rs"));
