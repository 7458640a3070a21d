//! Language models in the ARPA format: reading them ([`read`]), making G of them ([`compile()`], [`compile_ngrams`]), finding
//! the n-grams of G again ([`BackoffModel`]), and interpolation ([`mix()`]).
//!
//! Facts: `lm/arpa-file-parser.cc` and `lm/arpa-lm-compiler.cc`.

mod backoff;
mod compile;
mod mix;
mod ngrams;
mod of_fst;
mod read;
#[cfg(test)]
mod tests;

pub use backoff::{BackoffModel, Vocabulary};
pub use compile::{Compiled, compile};
pub use mix::mix;
pub use ngrams::compile_ngrams;
pub use read::{ArpaOptions, Event, Line, Ngram, NgramConsumer, UnknownWords, Words, Wrong, read_arpa};
