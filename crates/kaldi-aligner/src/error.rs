//! Errors of alignment jobs.

use kaldi_io::IoError;

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure of an alignment job, with its place.
#[allow(missing_docs)] // The comment of a variant explains its fields.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or a pipe.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The corpus.
    #[error(transparent)]
    Corpus(#[from] kaldi_corpus::Error),
    /// The lexicon or the language.
    #[error(transparent)]
    Lang(#[from] kaldi_lang::Error),
    /// The training or the alignment.
    #[error(transparent)]
    Align(#[from] kaldi_align::Error),
    /// Features of sound.
    #[error(transparent)]
    Feat(#[from] kaldi_feat::Error),
    /// HMMs of a model.
    #[error(transparent)]
    Hmm(#[from] kaldi_hmm::Error),
    /// Gaussians of a model.
    #[error(transparent)]
    Gmm(#[from] kaldi_gmm::Error),
    #[error(transparent)]
    Sound(#[from] kaldi_sound::Error),
    #[error(transparent)]
    G2p(#[from] kaldi_g2p::Error),
    /// The caller wants no result any more.
    #[error(transparent)]
    Interrupted(#[from] kaldi_align::interrupt::Interrupted),
    /// A file or folder that cannot be used.
    #[error("{path}: {message}")]
    File { path: String, message: String },
    /// A setting that cannot be used with these data.
    #[error("`{setting}`={value}: {message}")]
    Setting { setting: &'static str, value: String, message: String },
    /// Data that allow no computation.
    #[error("{0}")]
    Data(String),
}

impl Error {
    pub(crate) fn file(path: &std::path::Path, message: impl Into<String>) -> Error {
        Error::File { path: path.display().to_string(), message: message.into() }
    }

    pub(crate) fn io(path: &std::path::Path, source: std::io::Error) -> Error {
        IoError::Io { name: path.display().to_string(), source }.into()
    }
}
