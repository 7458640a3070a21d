//! Language models in the ARPA format: reading them ([`read`]), and making G of them ([`compile`], [`compile_ngrams`]).
//!
//! Facts: `lm/arpa-file-parser.cc` and `lm/arpa-lm-compiler.cc`.

mod compile;
mod ngrams;
mod read;

pub use compile::{Compiled, compile};
pub use ngrams::compile_ngrams;
pub use read::{ArpaOptions, Event, Line, Ngram, NgramConsumer, UnknownWords, Words, Wrong, read_arpa};
