//! Errors of examples and training.

use kaldi_io::IoError;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Io(#[from] IoError),

    #[error(transparent)]
    Core(#[from] nnet3_core::Error),

    #[error(transparent)]
    Hmm(#[from] kaldi_hmm::Error),

    /// Options that make no sense.
    #[error("{0}")]
    Options(String),

    /// Data that do not fit each other or the network.
    #[error("{0}")]
    Data(String),

    /// Something in a program that is run within this one.
    #[error("{program}")]
    Program { program: &'static str, source: Box<Error> },

    /// Something about one entry of a table.
    #[error("{table}, key '{key}'")]
    Entry { table: String, key: String, source: Box<Error> },
}

impl Error {
    pub fn options(message: impl Into<String>) -> Error {
        Error::Options(message.into())
    }
    pub fn data(message: impl Into<String>) -> Error {
        Error::Data(message.into())
    }
    /// The error, with the entry that it is about.
    pub fn entry(self, table: &str, key: &str) -> Error {
        Error::Entry { table: table.to_owned(), key: key.to_owned(), source: Box::new(self) }
    }
}
