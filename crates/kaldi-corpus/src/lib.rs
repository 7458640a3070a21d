//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Recordings of people and their texts, in the forms that people have them.
//!
//! [`read`] finds out the form of an [`Input`] and returns a [`Corpus`]: recordings, utterances with their times, speakers
//! and texts, and [`Fault`]s. A fault names its place, and the utterances that it costs: none is lost in silence.
//!
//! - `folder.rs`: a tree of folders with `.lab`, `.txt`, `.TextGrid` or `.eaf` files beside the sound.
//! - `table/`: one table of recordings (`.csv`, `.tsv`, `metadata.csv`, manifests in JSON).
//! - `data_folder.rs`: Kaldi's data folders. `listed.rs`: recordings, and a table of transcripts by key.
//! - [`textgrid`], [`eaf`]: the files of Praat and ELAN.
//! - `assembly.rs`: the checks that all forms share; `speakers.rs` and `keys.rs`: names of speakers and utterances.
//! - [`normalise`], [`vocabulary`]: texts as words of a lexicon, and the words that it lacks.
//! - [`many`]: recordings that jobs recognise: names, batches, results.
//! - [`mod@write`]: Kaldi's data folders. [`garbage`]: sounds that are no words, for training.

#![warn(missing_docs, clippy::missing_errors_doc)]

mod assembly;
mod corpus;
mod data_folder;
pub mod eaf;
mod error;
mod fault;
mod folder;
pub mod garbage;
mod input;
mod keys;
mod listed;
mod loss;
pub mod many;
pub mod normalise;
mod overlap;
mod path;
mod probe;
mod rate;
mod report;
mod sidecar;
mod speakers;
mod table;
mod text;
pub mod textgrid;
mod tiers;
pub mod vocabulary;
pub mod write;

pub use corpus::{Corpus, Recording, Source, Utterance};
pub use error::{Error, Result};
pub use fault::{Amount, Counts, Fault, Kind};
pub use input::{Form, Input, Options, read};
pub use loss::Loss;
pub use path::SOUND_EXTENSIONS;
pub use probe::{Check, Levels};
pub use report::{MOST_LOST, report, write_faults};
pub use speakers::SpeakerRule;
pub use table::read_bytes as read_table_bytes;
pub use text::decode;
pub use tiers::TierRule;
