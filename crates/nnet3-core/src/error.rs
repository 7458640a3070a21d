//! What can go wrong in the core, with the place and what would be right.

use kaldi_io::error::IoError;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Io(#[from] IoError),

    /// A line of a network config or of edits. `place` is `file:line`, `text` the line.
    #[error("{place}: {message}\n  in the line: {text}")]
    Config { place: String, text: String, message: String },

    /// A network that contradicts itself (dimensions, names, undefined nodes).
    #[error("{0}")]
    Network(String),

    /// A request that does not fit the network.
    #[error("computation request: {0}")]
    Request(String),

    /// Outputs that cannot be computed from the inputs of the request; the text lists missing dependencies.
    #[error("{0}")]
    NotComputable(String),

    /// An invalid computation. `command` is its printed form, or empty.
    #[error("invalid computation: {message}{}{command}", if command.is_empty() { "" } else { "\n  at the command " })]
    Computation { message: String, command: String },

    /// Input given to a computation, or asked of it, that does not fit.
    #[error("{0}")]
    Execution(String),
}

impl Error {
    pub fn network(message: impl Into<String>) -> Error {
        Error::Network(message.into())
    }
    pub fn computation(message: impl Into<String>) -> Error {
        Error::Computation { message: message.into(), command: String::new() }
    }
}
