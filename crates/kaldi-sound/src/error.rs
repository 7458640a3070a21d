//! Errors about recordings.

use kaldi_io::IoError;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Io(#[from] IoError),
    /// The file has sound that nothing here decodes.
    #[error(
        "{file}: cannot decode {found} ({reason}); the program ffmpeg, which decodes other formats, is not installed"
    )]
    NoDecoder { file: String, found: String, reason: String },
    #[error("{file}: expected a recording, found {found} ({reason})")]
    NoSound { file: String, found: String, reason: String },
    /// Sampling rate or number of channels are others than at the beginning.
    #[error("{file}: expected {} Hz and {} channels as at the beginning, found {} Hz and {} channels", .expected.0, .expected.1, .found.0, .found.1)]
    Changed { file: String, expected: (u32, usize), found: (u32, usize) },
    /// A program that decodes the recording cannot be started.
    #[error("{file}: {message}")]
    Program { file: String, message: String },
    /// The samples cannot be had at the wanted rate.
    #[error("{file}: {source}")]
    Rate { file: String, source: kaldi_feat::Error },
    #[error("{file} has no channel {wanted}: expected a number from 1 to {there}")]
    NoChannel { file: String, wanted: usize, there: usize },
}
