//! Errors of opening a model.

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure, with its place.
#[allow(missing_docs)] // The comment of a variant explains its fields.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A model of Gaussians, or a lexicon.
    #[error(transparent)]
    Aligner(#[from] kaldi_aligner::Error),
    /// A recogniser.
    #[error(transparent)]
    Recogniser(#[from] nnet3_online::Error),
    /// A file.
    #[error(transparent)]
    Io(#[from] kaldi_io::IoError),
    /// A request that makes no sense, or that leaves no utterance.
    #[error("{0}")]
    Request(String),
    /// A file or folder that cannot be used.
    #[error("{path}: {message}")]
    File { path: String, message: String },
}
