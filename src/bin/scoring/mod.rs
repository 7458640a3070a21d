//! Scoring: word errors of transcripts.

mod counts;

include!(concat!(env!("OUT_DIR"), "/scoring.rs"));
