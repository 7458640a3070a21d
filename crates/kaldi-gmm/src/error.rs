//! The error type of the crate.

use kaldi_io::IoError;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Io(#[from] IoError),

    #[error(transparent)]
    Hmm(#[from] kaldi_hmm::Error),

    /// Models, statistics or data that do not fit each other, or that allow no computation.
    #[error("{0}")]
    Data(String),

    /// Options that cannot be used.
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
