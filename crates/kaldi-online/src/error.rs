//! The one error type of the crate.

use kaldi_io::IoError;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Io(#[from] IoError),

    #[error(transparent)]
    Features(#[from] kaldi_feat::Error),

    /// Options that make no sense.
    #[error("{0}")]
    Options(String),

    /// A value that makes no sense. Programs have options of the same names.
    #[error("{name}={found}: expected {expected}")]
    Value { name: &'static str, found: String, expected: &'static str },

    /// Files that do not fit each other, or data that do not fit them.
    #[error("{0}")]
    Data(String),
}

impl Error {
    pub(crate) fn options(message: impl Into<String>) -> Error {
        Error::Options(message.into())
    }
    pub(crate) fn data(message: impl Into<String>) -> Error {
        Error::Data(message.into())
    }
}
