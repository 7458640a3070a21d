//! Errors of alignment jobs.

use kaldi_io::IoError;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Io(#[from] IoError),
    #[error(transparent)]
    Corpus(#[from] kaldi_corpus::Error),
    #[error(transparent)]
    Lang(#[from] kaldi_lang::Error),
    #[error(transparent)]
    Align(#[from] kaldi_align::Error),
    #[error(transparent)]
    Feat(#[from] kaldi_feat::Error),
    #[error(transparent)]
    Hmm(#[from] kaldi_hmm::Error),
    #[error(transparent)]
    Gmm(#[from] kaldi_gmm::Error),
    #[error(transparent)]
    Sound(#[from] kaldi_sound::Error),
    #[error(transparent)]
    G2p(#[from] kaldi_g2p::Error),
    /// A file or folder that cannot be used.
    #[error("{path}: {message}")]
    File { path: String, message: String },
    /// A setting that cannot be used with these data.
    #[error("`{setting}`={value}: {message}")]
    Setting { setting: &'static str, value: String, message: String },
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
