//! Errors of speaker vectors, models and scores.

use kaldi_io::IoError;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Io(#[from] IoError),

    /// Data from which the result cannot be computed.
    #[error("{0}")]
    Data(String),

    /// Options that are out of range or contradict each other.
    #[error("{0}")]
    Options(String),
}

impl Error {
    pub(crate) fn data(message: impl Into<String>) -> Error {
        Error::Data(message.into())
    }

    pub(crate) fn options(message: impl Into<String>) -> Error {
        Error::Options(message.into())
    }
}
