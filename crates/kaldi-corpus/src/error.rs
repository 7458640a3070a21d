//! Errors that end the reading of a corpus. A fault of one file or utterance is a [`Fault`](crate::Fault) instead.

use kaldi_io::IoError;

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// A fault of an input as a whole.
#[allow(missing_docs)] // The comment of a variant explains its fields.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or a pipe.
    #[error(transparent)]
    Io(#[from] IoError),
    #[error(transparent)]
    Sound(#[from] kaldi_sound::Error),
    /// The content of a file violates its format.
    #[error("{file}, line {line}: {message}")]
    Format { file: String, line: usize, message: String },
    /// A file that should be text is not.
    #[error("{file}: {message}")]
    NotText { file: String, message: String },
    /// The input has none of the known forms.
    #[error("{path}: {message}")]
    Form { path: String, message: String },
    /// A setting that makes no sense, or does not fit this input.
    #[error("`{setting}`={value}: {message}")]
    Setting { setting: &'static str, value: String, message: String },
    /// The result cannot be written there.
    #[error("{path}: {message}")]
    Output { path: String, message: String },
}

impl Error {
    pub(crate) fn io(path: &std::path::Path, source: std::io::Error) -> Error {
        IoError::Io { name: path.display().to_string(), source }.into()
    }

    pub(crate) fn form(path: &std::path::Path, message: impl Into<String>) -> Error {
        Error::Form { path: path.display().to_string(), message: message.into() }
    }
}
