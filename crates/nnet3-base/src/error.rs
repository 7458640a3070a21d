//! Errors of the core, with the place and the correct form.

use kaldi_io::error::IoError;
use nnet3_matrix::DeviceFault;

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

    /// The plan of a computation needs more memory than the device has free. Found before the run.
    #[error(transparent)]
    Memory(#[from] MemoryError),

    /// The device has failed while it worked.
    #[error(transparent)]
    Device(#[from] DeviceFault),
}

/// A computation that does not fit a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the matrices of the computation need {} MiB, and the device has {} MiB of {} MiB free{}",
    needed >> 20, free >> 20, total >> 20, self.advice()
)]
pub struct MemoryError {
    /// Bytes.
    pub needed: u64,
    pub free: u64,
    pub total: u64,
    /// Sequences of the minibatch, if known.
    pub sequences: Option<usize>,
}

impl MemoryError {
    /// The largest number of sequences for which the matrices would fit: they are in proportion to it.
    pub fn fitting(&self) -> Option<usize> {
        self.sequences.map(|n| (n as u128 * self.free as u128 / self.needed.max(1) as u128) as usize)
    }

    fn advice(&self) -> String {
        match (self.sequences, self.fitting()) {
            (Some(have), Some(fits @ 1..)) => {
                format!("; a minibatch of {fits} sequences would fit instead of {have} (`minibatch-size`)")
            }
            (Some(_), _) => "; not even one sequence fits: shorter chunks would".to_string(),
            _ => String::new(),
        }
    }
}

impl Error {
    pub fn network(message: impl Into<String>) -> Error {
        Error::Network(message.into())
    }
    /// Adds the number of sequences to the error of a minibatch that does not fit; other errors stay unchanged.
    pub fn of_minibatch(self, sequences: usize) -> Error {
        match self {
            Error::Memory(e) => Error::Memory(MemoryError { sequences: Some(sequences), ..e }),
            other => other,
        }
    }
    pub fn computation(message: impl Into<String>) -> Error {
        Error::Computation { message: message.into(), command: String::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_errors_say_what_would_fit() {
        let e = MemoryError { needed: 3 << 30, free: 1 << 30, total: 2 << 30, sequences: None };
        let text =
            "the matrices of the computation need 3072 MiB, and the device has 1024 MiB of 2048 MiB free";
        assert_eq!(Error::Memory(e).to_string(), text);
        let known = Error::Memory(e).of_minibatch(128).to_string();
        assert_eq!(
            known,
            format!("{text}; a minibatch of 42 sequences would fit instead of 128 (`minibatch-size`)")
        );
        assert!(Error::Memory(e).of_minibatch(2).to_string().ends_with("shorter chunks would"));
    }
}
