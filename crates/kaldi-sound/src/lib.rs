//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Recordings in files of any format, as streams of 16-bit samples.
//!
//! Wave files are read by `kaldi-feat`. FLAC, MP3, Ogg Vorbis, AAC, ALAC, CAF, AIFF, and the sound of MP4, Matroska and
//! WebM files are decoded by symphonia. Other formats, among them Opus, are decoded by the program ffmpeg if it is
//! installed.
//!
//! The contract of [`SoundStream`]: it gives all samples of one track at their times, counted from the beginning of the
//! file, or a list of [`Warning`]s that say what is missing, where, and how much. A file, a pipe and another process give
//! the same samples.

#![warn(missing_docs, clippy::missing_errors_doc)]

mod blocks;
mod channels;
mod conversion;
mod decoded;
mod demuxed;
mod error;
mod ffmpeg;
mod input;
mod joined;
mod matroska;
mod mp4;
mod mpeg;
mod parts;
mod program;
mod raw;
mod scan;
mod signal;
mod sizes;
mod spooled;
mod stream;
mod streams;
mod timeline;
mod warning;
mod waves;

pub use channels::Channels;
pub use error::{Error, Result};
pub use kaldi_feat::wave::RATES;
pub use program::WARNING;
pub use raw::RawForm;
pub use signal::Signal;
pub use stream::{SoundOptions, SoundStream, is_text_file};
pub use warning::Warning;
