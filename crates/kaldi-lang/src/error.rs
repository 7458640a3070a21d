//! The error type of the crate.

use kaldi_io::IoError;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Io(#[from] IoError),

    #[error(transparent)]
    Hmm(#[from] kaldi_hmm::Error),

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
