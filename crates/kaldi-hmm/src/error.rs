//! Errors of transition models and of the ids in alignments.

use kaldi_io::IoError;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Io(#[from] IoError),

    /// A topology, tree or transition model that contradicts itself, or two that do not belong together.
    #[error("{0}")]
    Model(String),

    /// A number that is no transition-id of the model.
    #[error("{id} is not a transition-id of the model, which has 1 to {count}")]
    TransitionId { id: i32, count: usize },

    /// A number that is no pdf-id of the model.
    #[error("{id} is not a pdf-id of the model, which has 0 to {}", count - 1)]
    PdfId { id: i32, count: usize },

    /// Something about one frame, from 0, of an alignment or a posterior.
    #[error("frame {frame}")]
    Frame { frame: usize, source: Box<Error> },

    /// A sequence of ids that is not a path through the HMMs.
    #[error("{0}")]
    Alignment(String),

    /// Counts or options that cannot be used.
    #[error("{0}")]
    Value(String),
}

/// Numbers as messages show them: `1 2 3`.
pub fn listed(numbers: &[i32]) -> String {
    numbers.iter().map(i32::to_string).collect::<Vec<_>>().join(" ")
}

impl Error {
    pub(crate) fn model(message: impl Into<String>) -> Error {
        Error::Model(message.into())
    }

    /// The same error, with the frame that it is about.
    pub(crate) fn at_frame(self, frame: usize) -> Error {
        Error::Frame { frame, source: Box::new(self) }
    }
}
