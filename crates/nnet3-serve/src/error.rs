//! The one error type of the crate.

use std::net::SocketAddr;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },

    #[error("the server cannot start: {0}")]
    Start(std::io::Error),

    /// A limit that would let no client be served.
    #[error("{0}")]
    Limit(String),

    /// Recordings cannot be kept while they are recognised.
    #[error("recordings cannot be kept in the folder of temporary files: {0}")]
    Temporary(std::io::Error),

    /// The program that decodes recordings does not work.
    #[error("recordings cannot be decoded: {0}")]
    Decoder(#[from] crate::process::Trouble),

    #[error(transparent)]
    Threads(#[from] kaldi_io::IoError),

    #[error(transparent)]
    Model(#[from] nnet3_online::Error),
}
