//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Forced alignment as a whole job: recordings and texts become times of words and phones.
//!
//! 1. [`kaldi_corpus::read`] reads the corpus; [`Pronunciations`] are the lexicon, with a way for words that it lacks.
//! 2. [`cepstra::extract`] makes features of the utterances.
//! 3. [`Model::train`] trains a model on them, or [`Model::open`] reads one.
//! 4. [`Model::align`] gives an [`AlignedUtterance`] for each utterance, or the reason why there is none.
//! 5. [`outputs`] writes TextGrids, CTM, JSON, CSV, subtitles, and a table with a line for each recording.
//!
//! [`Job`] does 2 to 4 with a model of any kind. A [`NetworkModel`] has HMMs, and log-likelihoods from a [`Scoring`] of the
//! caller: this crate knows no networks.
//!
//! The crate does not print: callers hear of progress.

#![warn(missing_docs, clippy::missing_errors_doc)]

pub mod aligned;
mod archive;
pub mod cepstra;
pub mod edges;
mod error;
mod guessed;
pub mod job;
mod kind;
mod letters;
pub mod listen;
mod little;
pub mod long;
mod model;
mod model_phones;
mod network;
mod options_file;
mod others;
pub mod outputs;
mod pronunciations;
mod scores;
mod settings;
mod spoken;
pub mod state;

pub use aligned::{AlignedPhone, AlignedUtterance, AlignedWord, LeftOut, Results, Untexted};
pub use error::{Error, Result};
pub use guessed::Guessed;
pub use job::{AnyModel, Begin, Job, JobEvent, Listened};
pub use kaldi_align::interrupt;
pub use little::warning_of_little_speech;
pub use model::Model;
pub use network::{NetworkModel, Scorer, Scoring};
pub use options_file::OPTIONS;
pub use others::Beside;
pub use pronunciations::{Pronunciations, Source, Unknown};
pub use settings::{FeatureSettings, FrameTimes, META, SilenceSettings};
