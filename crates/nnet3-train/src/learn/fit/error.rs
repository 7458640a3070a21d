//! Errors of whole trainings.

use crate::error::Error;

pub type Result<T> = std::result::Result<T, FitError>;

/// An error of a host ([`Host`](super::Host)).
pub type HostError = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug, thiserror::Error)]
pub enum FitError {
    #[error(transparent)]
    Train(#[from] Error),

    /// An error of a minibatch. Epochs count from 1.
    #[error("epoch {epoch}, minibatch {key}")]
    Minibatch { epoch: u64, key: String, source: Error },

    /// An objective that became NaN or infinite. Without a minibatch, the device has told of it at the end of an epoch.
    #[error("the loss of '{output}' is not a finite number in {}", place(*.epoch, .minibatch))]
    NotFinite { output: String, epoch: u64, minibatch: Option<(u64, String)> },

    /// The state of an earlier training does not fit this one.
    #[error("the training cannot be resumed")]
    Resume(#[source] Error),

    /// The state of an earlier training is of more minibatches than an epoch has now.
    #[error(
        "the checkpoint was written at minibatch {expected} of an epoch, but this epoch has only {found} minibatches (have the examples changed?)"
    )]
    Short { expected: u64, found: u64 },

    #[error("evaluation")]
    Evaluation(#[source] Error),

    #[error(transparent)]
    Host(#[from] HostError),
}

impl From<nnet3_core::Error> for FitError {
    fn from(error: nnet3_core::Error) -> FitError {
        FitError::Train(error.into())
    }
}

fn place(epoch: u64, minibatch: &Option<(u64, String)>) -> String {
    match minibatch {
        Some((number, key)) => format!("minibatch {number} ({key}) of epoch {epoch}"),
        None => format!("epoch {epoch}"),
    }
}
