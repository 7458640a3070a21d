//! The one error type of the crate.

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Features(#[from] kaldi_online::Error),

    #[error(transparent)]
    Network(#[from] nnet3_core::Error),

    #[error(transparent)]
    Search(#[from] nnet3_decode::Error),

    /// Data that allow no computation, or calls in a wrong order.
    #[error("{0}")]
    Data(String),
}

impl Error {
    /// True if no further utterance can be decoded.
    pub fn is_broken_graph(&self) -> bool {
        matches!(self, Error::Search(nnet3_decode::Error::BrokenGraph(_)))
    }
}
