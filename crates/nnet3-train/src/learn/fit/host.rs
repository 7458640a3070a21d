//! The caller of a training.

use nnet3_core::nnet::Nnet;

use super::error::HostError;
use super::evaluation::Evaluation;
use super::sums::EpochSums;
use crate::NnetExample;
use crate::learn::state::LearningState;
use crate::times::Times;
use crate::trainer::{Event, Trainer};

/// A point of a training: completed epochs, and minibatches of the next one.
pub type Moment = (u64, u64);

type Result<T> = std::result::Result<T, HostError>;

/// The caller of a training: it has the examples, shows progress and keeps files. Its errors end the training.
pub trait Host {
    /// Begins an epoch (from 0), and returns the number of its minibatches.
    fn begin_epoch(&mut self, epoch: u64) -> Result<u64>;

    /// Returns the next minibatch of the epoch with its key; `None` at the end.
    fn next_minibatch(&mut self) -> Result<Option<(String, NnetExample)>>;

    /// Returns up to `count` minibatches, the same each time.
    fn first_minibatches(&mut self, count: usize) -> Result<Vec<NnetExample>>;

    /// True if the training must end now, in good order.
    fn must_stop(&self) -> bool;

    /// Shows progress, after `done` minibatches of the epoch.
    fn trained(&mut self, done: u64, sums: &EpochSums);

    /// Takes an event that users may want to know at once.
    fn event(&mut self, event: &Event);

    /// Takes the results of an epoch.
    fn epoch_done(&mut self, report: EpochReport<'_>) -> Result<()>;

    /// True if the host keeps states from which the training can be resumed.
    fn keeps_states(&self) -> bool;

    /// Returns the moment of the last state that it has.
    fn last_state(&self) -> Result<Option<Moment>>;

    /// Keeps a state.
    fn keep_state(&mut self, nnet: &Nnet, state: &LearningState) -> Result<()>;

    /// Takes a network whose evaluation is the best so far.
    fn better(&mut self, nnet: &Nnet) -> Result<()>;
}

/// The results of an epoch.
pub struct EpochReport<'r> {
    /// The state after the epoch, without that of the optimisers.
    pub state: &'r LearningState,
    pub sums: &'r EpochSums,
    /// The loss per frame.
    pub loss: f64,
    /// Learning rates by the names of schedules and optimisers.
    pub rates: &'r [(String, f64)],
    pub evaluation: Option<&'r Evaluation>,
    pub times: Times,
    /// The network before the epoch, if [`FitOptions::compare`](super::FitOptions::compare) asks for it.
    pub before: Option<&'r Nnet>,
    /// The trainer, with the network after the epoch.
    pub trainer: &'r Trainer,
}
