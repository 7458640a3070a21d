//! Errors of recurrent language models.

use kaldi_io::IoError;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Io(#[from] IoError),

    #[error(transparent)]
    Core(#[from] nnet3_core::Error),

    #[error(transparent)]
    Train(#[from] nnet3_train::Error),

    /// Options that make no sense.
    #[error("{0}")]
    Options(String),

    /// Data that do not fit each other or the network.
    #[error("{0}")]
    Data(String),
}

impl Error {
    pub fn options(message: impl Into<String>) -> Error {
        Error::Options(message.into())
    }
    pub fn data(message: impl Into<String>) -> Error {
        Error::Data(message.into())
    }
}
