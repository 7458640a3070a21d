//! Recordings of people and their texts: corpora in any form, and their forced alignment.

#![cfg(feature = "sound")]

mod aligning;
mod elsewhere;
mod long;
mod options;
mod picture;
mod remarks;
mod words;

include!(concat!(env!("OUT_DIR"), "/corpora.rs"));
