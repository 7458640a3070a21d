//! Errors, and reasons why an utterance cannot be used.

use kaldi_io::IoError;

use crate::interrupt::Interrupted;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Io(#[from] IoError),

    #[error(transparent)]
    Hmm(#[from] kaldi_hmm::Error),

    #[error(transparent)]
    Gmm(#[from] kaldi_gmm::Error),

    #[error(transparent)]
    Tree(#[from] kaldi_tree::Error),

    #[error(transparent)]
    Feat(#[from] kaldi_feat::Error),

    #[error(transparent)]
    Lang(#[from] kaldi_lang::Error),

    #[error(transparent)]
    Interrupted(#[from] Interrupted),

    /// Data, models and languages that do not fit each other.
    #[error("{0}")]
    Data(String),

    /// A file of a model that makes no sense.
    #[error("{file}: {problem}")]
    File { file: String, problem: String },
}

impl Error {
    pub(crate) fn data(message: impl Into<String>) -> Error {
        Error::Data(message.into())
    }
}

/// The reason why an utterance is not trained on, or not aligned.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Reason {
    #[error("there are no frames")]
    NoFrames,
    #[error("the features have dimension {found}, expected {expected}")]
    Dimension { found: usize, expected: usize },
    #[error("frame {frame} of the features has element {value}")]
    NotFinite { frame: usize, value: f32 },
    /// A word (by its number and its position in the transcript) that the lexicon lacks.
    #[error("word {position} of the transcript, number {word}, has no pronunciation")]
    NoPronunciation { word: u32, position: usize },
    #[error("{frames} frames are too few: the shortest pronunciation needs {needed}")]
    TooShort { frames: usize, needed: usize },
    /// A phone in a context for which the model's tree has no leaf, or that its topology lacks.
    #[error("the model does not know phone {phone} in its context")]
    UnknownPhone { phone: i32 },
    #[error("no path reaches the end of the transcript, even with beam {beam}")]
    NoPath { beam: f32 },
}

impl Reason {
    /// A word for tables and counts.
    pub fn name(&self) -> &'static str {
        match self {
            Reason::NoFrames => "no-frames",
            Reason::Dimension { .. } => "dimension",
            Reason::NotFinite { .. } => "not-finite",
            Reason::NoPronunciation { .. } => "no-pronunciation",
            Reason::TooShort { .. } => "too-short",
            Reason::UnknownPhone { .. } => "unknown-phone",
            Reason::NoPath { .. } => "no-path",
        }
    }
}
