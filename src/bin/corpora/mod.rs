//! Recordings of people and their texts: all forms of corpora, any format of sound.

mod options;

include!(concat!(env!("OUT_DIR"), "/corpora.rs"));
