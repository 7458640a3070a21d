//! Recordings: sound in pieces to sentences.

#[cfg(feature = "sound")]
mod bands;
#[cfg(feature = "sound")]
mod loudness;
mod sentences;
#[cfg(feature = "sound")]
mod sound;
mod steps;

#[cfg(feature = "sound")]
pub use loudness::Loudness;
pub use sentences::{PIECE, Sentence, Sentences, piece};
#[cfg(feature = "sound")]
pub use sound::{Recording, RecordingOptions, RecordingWarning};
pub use steps::Steps;
