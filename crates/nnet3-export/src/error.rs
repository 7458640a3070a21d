//! Errors of exporting a network or importing parameters.

use kaldi_io::IoError;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Io(#[from] IoError),
    #[error(transparent)]
    Core(#[from] nnet3_core::Error),
    /// The network, or the request, has no ONNX form in the requested mode.
    #[error("{0}")]
    Unsupported(String),
    /// A defect of a component's written form, or of its precomputed data.
    #[error("component of type {component}: {message}")]
    Component { component: String, message: String },
    /// A fault of a safetensors file, or of its tensors for a model.
    #[error("{0}")]
    Tensors(String),
}

impl Error {
    pub(crate) fn unsupported(message: impl Into<String>) -> Error {
        Error::Unsupported(message.into())
    }

    pub(crate) fn tensors(message: impl Into<String>) -> Error {
        Error::Tensors(message.into())
    }
}
