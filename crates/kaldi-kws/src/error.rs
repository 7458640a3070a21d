//! Errors of indices, keywords and scores.

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Lattice(#[from] nnet3_decode::Error),

    #[error(transparent)]
    Fst(#[from] kaldi_fst::Error),

    /// Data from which the result cannot be computed.
    #[error("{0}")]
    Data(String),
}

impl Error {
    pub(crate) fn data(message: impl Into<String>) -> Error {
        Error::Data(message.into())
    }
}
