//! Recordings in files of any format, as streams of 16-bit samples.
//!
//! Wave files are read by `kaldi-feat`. FLAC, MP3, Ogg Vorbis, AAC, ALAC, CAF, AIFF, and the sound of MP4, Matroska and
//! WebM files are decoded by symphonia. Other formats, among them Opus, are decoded by the program ffmpeg if it is
//! installed.

mod channels;
mod decoded;
mod error;
mod ffmpeg;
mod program;
mod signal;
mod stream;

pub use channels::Channels;
pub use error::{Error, Result};
pub use signal::Signal;
pub use stream::SoundStream;
