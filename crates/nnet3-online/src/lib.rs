//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Recognition of sound while it arrives: features, i-vectors, network, search, words.
//!
//! - [`Model`]: all that does not change, from a folder or from parts. Recognisers on several threads share it.
//! - `Recording`: a recording of any format to [`Sentence`]s (feature `sound`); [`Sentences`]: the same of sound in pieces.
//! - [`Recognizer`]: samples to [`Transcript`]s, with partial results and endpoints.
//! - [`Stream`]: the part of a recogniser before words: samples to lattices.
//! - [`Scorer`]: samples to outputs of the network.
//! - [`Spotter`]: samples to words as soon as these are certain.
//! - [`server`]: the conversation with a client over a socket.
//! - [`json`]: results for other programs; [`formats`]: text, subtitles and the like of a recording.
//! - [`config`]: the options that may stand in the files of a model.
//!
//! This crate does not log: messages for users are part of the results ([`Notice`], [`Warning`]).
//!
//! ```no_run
//! use nnet3_online::{Model, ModelOptions, Recognizer, State};
//!
//! # fn main() -> nnet3_online::Result<()> {
//! # let pieces: Vec<Vec<f32>> = Vec::new();
//! let model = Model::open("model", &ModelOptions::default())?;
//! let mut recognizer = Recognizer::new(&model, 16000.0, model.options())?;
//! for samples in pieces {
//!     match recognizer.accept(&samples)? {
//!         State::Listening => println!("{} …", recognizer.partial()?),
//!         State::Endpoint { .. } => println!("{}", recognizer.result()?.text()),
//!     }
//! }
//! println!("{}", recognizer.finish()?.text());
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs, clippy::missing_errors_doc)]

mod acoustics;
mod alternatives;
#[allow(missing_docs)] // Clap prints comments of groups of options as descriptions of programs.
pub mod config;
mod diarize;
mod effort;
pub mod error;
mod first_half;
pub mod formats;
pub mod graph;
pub mod json;
pub mod lexicon;
mod model;
pub mod model_graph;
mod network;
mod notice;
mod options;
pub mod phrases;
mod quiet;
mod recognizer;
mod recording;
mod sample_bytes;
mod scorer;
mod search;
mod segment;
pub mod server;
pub mod speakers;
mod spotter;
mod stream;
mod transcript;
pub mod voices;
mod words;

pub use diarize::Speakers;
pub use effort::Effort;
pub use error::{Error, Result};
pub use first_half::{PhraseFiles, PhrasePart};
pub use graph::SharedGraph;
pub use model::{IVECTOR_PERIOD, Inputs, LowRate, Model, ModelParts, acoustic_model, needs_folder};
pub use network::AcousticNetwork;
pub use notice::Notice;
pub use options::{Files, MakeObserver, ModelOptions, RecognizerOptions};
pub use phrases::Phrases;
pub use recognizer::Recognizer;
#[cfg(feature = "sound")]
pub use recording::{Loudness, Recording, RecordingOptions, RecordingWarning};
pub use recording::{PIECE, Sentence, Sentences, Steps, piece};
pub use sample_bytes::SampleBytes;
pub use scorer::Scorer;
pub use search::Search;
pub use spotter::Spotter;
pub use stream::{State, Stream};
pub use transcript::{Alternative, Transcript, Warning, Word, is_unknown, text};
