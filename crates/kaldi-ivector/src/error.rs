//! The one error type of the crate.

use kaldi_io::IoError;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Io(#[from] IoError),

    #[error(transparent)]
    Gaussians(#[from] kaldi_gmm::Error),

    /// Options that make no sense.
    #[error("{0}")]
    Options(String),

    /// Features or posteriors of another model: other utterances will not fit either.
    #[error("{0}")]
    OtherModel(String),

    /// Models, statistics and data that do not fit each other, or cannot be computed with.
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
