//! Language models in the ARPA format: reading them ([`read`]), and making G of them ([`compile`]).
//!
//! Facts: `lm/arpa-file-parser.cc` and `lm/arpa-lm-compiler.cc`.

mod compile;
mod read;

pub use compile::{Compiled, compile};
pub use read::{ArpaOptions, Event, Line, Ngram, NgramConsumer, UnknownWords, Words, Wrong, read_arpa};
