//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Pronunciations of new words from their letters (Bisani and Ney, "Joint-sequence models for grapheme-to-phoneme
//! conversion", 2008).
//!
//! A *graphone* is a piece of a word: up to two letters with up to two phones. [`lexicon`] reads pronunciations,
//! [`letters`] cuts words into letters, [`respelling`] puts them into letters that a model knows, and [`align`] cuts pronunciations into graphones by expectation maximisation.
//! [`ngrams`] is the model of graphone sequences: n-grams with Kneser-Ney smoothing, in the ARPA format. [`train()`] does
//! all of that, and [`cache`] keeps the result in a file. [`Model`] finds the pronunciations of a word: `search` makes a lattice of graphones, and `nbest` sums over
//! all ways to cut a pronunciation.

#![warn(missing_docs, clippy::missing_errors_doc)]

pub mod align;
pub mod cache;
pub mod error;
pub mod graphone;
pub mod letters;
pub mod lexicon;
pub mod model;
mod nbest;
pub mod ngrams;
mod parallel;
pub mod respelling;
mod search;
pub mod train;
pub mod words;

pub use error::{Error, Result};
pub use lexicon::{Entry, Lexicon};
pub use model::{Model, Pronunciation, SearchOptions};
pub use respelling::Respelled;
pub use train::{Report, TrainOptions, train};
