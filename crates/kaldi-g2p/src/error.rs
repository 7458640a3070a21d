//! Errors of models of pronunciations.

use kaldi_io::IoError;

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// A fault of a lexicon, a model or a word.
#[allow(missing_docs)] // The comment of a variant explains its fields.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or a pipe.
    #[error(transparent)]
    Io(#[from] IoError),

    /// A letter that no graphone of the model has. `hint` is empty or a clause in parentheses.
    #[error("the word '{word}' has the letter '{letter}', which the model has never seen{hint}")]
    UnknownLetter { word: String, letter: String, hint: String },

    /// All letters are known, but no sequence of graphones has these letters and a phone.
    #[error(
        "the word '{word}' has no pronunciation: its letters do not go together in any way that the model knows"
    )]
    /// A word that the model cannot pronounce.
    NoPronunciation { word: String },

    /// A file that is an ARPA file but no model of pronunciations, or data that cannot be learned from.
    #[error("{0}")]
    Data(String),
}

impl Error {
    pub(crate) fn data(message: impl Into<String>) -> Error {
        Error::Data(message.into())
    }

    /// True if the error concerns one word only: other words can be pronounced.
    pub fn is_of_word(&self) -> bool {
        matches!(self, Error::UnknownLetter { .. } | Error::NoPronunciation { .. })
    }
}
