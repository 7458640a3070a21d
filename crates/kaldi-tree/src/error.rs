//! Errors of statistics and trees.

use kaldi_io::IoError;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Io(#[from] IoError),

    #[error(transparent)]
    Hmm(#[from] kaldi_hmm::Error),

    #[error(transparent)]
    Gmm(#[from] kaldi_gmm::Error),

    /// Statistics that do not fit together, or do not fit trees, questions or phones.
    #[error("{0}")]
    Stats(String),

    /// Options and lists of phones that cannot be used.
    #[error("{0}")]
    Value(String),
}

impl Error {
    pub(crate) fn stats(message: impl Into<String>) -> Error {
        Error::Stats(message.into())
    }
    pub(crate) fn value(message: impl Into<String>) -> Error {
        Error::Value(message.into())
    }
}
