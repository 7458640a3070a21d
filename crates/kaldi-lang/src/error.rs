//! The error type of the crate.

use kaldi_io::IoError;

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// A fault of a lexicon, of options or of a lang folder, with its place.
#[allow(missing_docs)] // The comment of a variant explains its fields.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or a pipe.
    #[error(transparent)]
    Io(#[from] IoError),

    /// Topologies.
    #[error(transparent)]
    Hmm(#[from] kaldi_hmm::Error),

    /// Sets of phones.
    #[error(transparent)]
    Tree(#[from] kaldi_tree::Error),

    /// A file that cannot be used as a whole.
    #[error("{file}: {problem}")]
    File { file: String, problem: String },

    /// A line of a file.
    #[error("{file}, line {line}: {problem}")]
    Line { file: String, line: usize, problem: String },

    /// Options that cannot be used.
    #[error("{0}")]
    Options(String),
}

impl Error {
    pub(crate) fn file(file: &str, problem: impl Into<String>) -> Error {
        Error::File { file: file.to_owned(), problem: problem.into() }
    }

    pub(crate) fn line(file: &str, line: usize, problem: impl Into<String>) -> Error {
        Error::Line { file: file.to_owned(), line, problem: problem.into() }
    }
}
