//! Errors of making graphs.

use kaldi_io::IoError;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Io(#[from] IoError),

    #[error(transparent)]
    Fst(#[from] kaldi_fst::Error),

    #[error(transparent)]
    Hmm(#[from] kaldi_hmm::Error),

    /// Files that do not belong together, or labels that are invalid at their position.
    #[error("{0}")]
    Mismatch(String),

    #[error("AddSelfLoops: graph already has self-loops.")]
    HasSelfLoops,
}

impl Error {
    pub(crate) fn mismatch(message: impl Into<String>) -> Error {
        Error::Mismatch(message.into())
    }
}
