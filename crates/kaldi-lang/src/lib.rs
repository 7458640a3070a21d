//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Languages as recognisers know them: a lexicon becomes symbol tables, sets of phones, a topology and the transducer L.
//!
//! - [`plain_text`]: text files as users write them. [`lexicon`]: pronunciations in the forms of Kaldi and of the Montreal
//!   Forced Aligner.
//! - [`cmudict`]: comments and numbers in dictionaries like that of CMU.
//! - [`lang`]: all parts of a language, made of a lexicon and options. [`l_fst`] makes L, [`topology`] the HMMs.
//! - [`folder`]: Kaldi's lang folders, written and read.
//! - [`ngrams`]: estimation of n-gram language models.
//! - [`letters`]: letters as phones. [`spoken`]: transcripts as phones.
//! - [`adaptation`]: the words of a model with another language model.
//!
//! This crate does not print: warnings are part of results.

#![warn(missing_docs, clippy::missing_errors_doc)]

pub mod adaptation;
pub mod cmudict;
pub mod error;
pub mod folder;
pub mod l_fst;
pub mod lang;
pub mod letters;
pub mod lexicon;
pub mod ngrams;
pub mod plain_text;
pub mod spoken;
pub mod topology;

pub use error::{Error, Result};
pub use lang::{Lang, LangOptions, Pronunciation, TopologyKind};
pub use lexicon::{Entry, Lexicon, SilenceModel};
