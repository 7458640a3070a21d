//! Errors about recordings.

use kaldi_io::IoError;

use crate::RATES;

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure of a recording, which it names.
#[allow(missing_docs)] // The comment of a variant explains its fields.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or a pipe.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The file has sound that this crate cannot decode, and ffmpeg cannot be started.
    #[error(
        "{file}: cannot decode {found} ({reason}); the program ffmpeg, which decodes other formats, {ffmpeg}"
    )]
    /// A form of sound that only ffmpeg decodes, without ffmpeg.
    NoDecoder { file: String, found: String, reason: String, ffmpeg: String },
    /// A file without sound.
    #[error("{file}: expected a recording, found {found} ({reason})")]
    NoSound { file: String, found: String, reason: String },
    /// A file of no form that has a name: a text, or samples without a header.
    #[error("{file}: expected a recording, found {found} ({reason})")]
    NoForm { file: String, found: String, reason: String },
    /// The file was cut before its first sample.
    #[error("{file}: {found} that was cut: {reason}")]
    Cut { file: String, found: String, reason: String },
    /// A sampling rate that no recorder has.
    #[error("{file}: expected a sampling rate from {} to {} Hz, found {rate} Hz", RATES.start(), RATES.end())]
    Rate { file: String, rate: u32 },
    /// A program that decodes the recording cannot be started.
    #[error("{file}: {message}")]
    Program { file: String, message: String },
    /// The samples cannot be had at the wanted rate.
    #[error("{file}: {source}")]
    Resampling { file: String, source: kaldi_feat::Error },
    /// A channel that the recording does not have.
    #[error("{file} has no channel {wanted}: expected a number from 1 to {there}")]
    NoChannel { file: String, wanted: usize, there: usize },
    /// A track that the recording does not have.
    #[error("{file} has no track {wanted} of sound: expected a number from 1 to {there}")]
    NoTrack { file: String, wanted: usize, there: usize },
    /// A recording that must be kept in a file while it is decoded cannot be kept.
    #[error("{file}: {found} from a pipe is kept in a temporary file while it is decoded, and {reason}")]
    NotKept { file: String, found: String, reason: String },
    /// The system cannot keep it: the disk is full, or a limit is reached.
    #[error(
        "{file}: {found} from a pipe is kept in a temporary file while it is decoded, and that file cannot be written"
    )]
    NotWritten { file: String, found: String, source: std::io::Error },
    /// The samples cannot be written. The writer names itself.
    #[error(transparent)]
    Output(std::io::Error),
}
