//! Pronunciations of new words: models of letters and phones, learned from a lexicon.

mod reports;

include!(concat!(env!("OUT_DIR"), "/pronunciations.rs"));
