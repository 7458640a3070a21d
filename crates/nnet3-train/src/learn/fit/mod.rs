//! A whole training: epochs, the minibatches of each, evaluations, and states from which it can be resumed.
//!
//! [`Training::run`] is the loop. Its [`Host`] has the examples, shows progress and keeps files.

mod epoch;
mod error;
mod evaluation;
mod host;
mod sums;

use std::sync::Arc;
use std::time::Instant;

use kaldi_io::{KaldiReader, KaldiWriter};
use nnet3_core::execute::Executor;
use nnet3_core::nnet::Nnet;
use nnet3_core::snapshot::Snapshot;
use nnet3_matrix::Device;

use super::state::{LearnerState, LearningState};
use super::{LearnerOptions, Metric, Plan};
use crate::NnetExample;
use crate::combine::recompute_stats;
use crate::diagnostics::ProbOptions;
use crate::objective::FrameObjective;
use crate::times::Times;
use crate::trainer::{Trainer, TrainerOptions};

pub use error::{FitError, HostError, Result};
pub use evaluation::{Evaluation, Monitor};
pub use host::{EpochReport, Host, Moment};
pub use sums::EpochSums;

/// Number of minibatches for the batch-norm statistics of averaged parameters.
const STATISTICS_MINIBATCHES: usize = 100;

/// Options of a whole training.
pub struct FitOptions {
    pub num_epochs: u64,
    /// The seed of the first epoch. Each epoch adds its number.
    pub seed: i32,
    /// True if statistics of components go on from epoch to epoch.
    pub keep_statistics: bool,
    /// Epochs from one evaluation to the next.
    pub valid_every: u64,
    pub metrics: Vec<Metric>,
    pub monitor: Monitor,
    /// By how much an evaluation has to be better.
    pub min_delta: f64,
    /// Evaluations in a row that are not better, after which the training ends; 0 means never.
    pub patience: u64,
    /// Epochs from one kept state to the next.
    pub keep_every: u64,
    /// Minibatches from one kept state within an epoch to the next; 0 means none.
    pub keep_minibatches: u64,
    /// True if reports have the network before the epoch.
    pub compare: bool,
    /// Options of evaluations.
    pub prob: ProbOptions,
}

/// The common part of replicas.
pub struct Together {
    pub devices: Vec<Device>,
    pub trainer_options: TrainerOptions,
    pub learner: LearnerOptions,
    /// Minibatches from one average of parameters to the next.
    pub average_period: u64,
    /// Sets up the executor of a replica.
    pub prepare: Arc<dyn Fn(&mut Executor) + Send + Sync>,
}

/// A training that is to be run.
pub struct Training<'d> {
    pub options: FitOptions,
    pub plan: Arc<Plan>,
    /// The trainer. Between epochs it has the network, even if there are several replicas.
    pub trainer: Trainer,
    pub together: Together,
    /// Minibatches for evaluations.
    pub valid: Vec<NnetExample>,
    pub state: LearningState,
    /// True if the state comes from an earlier training.
    pub resumed: bool,
    pub device: &'d Device,
}

/// The end of a training.
pub enum Ended {
    /// The network, after so many epochs. `without_improvement` is the number of evaluations that ended the training
    /// early.
    Finished { nnet: Box<Nnet>, epochs: u64, without_improvement: Option<u64> },
    /// The host stopped the training in this epoch (from 1), after `done` of its `count` minibatches.
    Stopped { epoch: u64, done: u64, count: u64 },
}

/// Reasons for an early end of a training.
enum End {
    Stopped { epoch: u64, done: u64, count: u64 },
    NoImprovement,
}

impl Training<'_> {
    /// Runs the training to its end.
    pub fn run(mut self, host: &mut dyn Host) -> Result<Ended> {
        let first = self.state.epochs;
        // An evaluation that was made before the state was kept may have been the last.
        let mut end = self.is_patience_over().then_some(End::NoImprovement);
        let is_over = first >= self.options.num_epochs || end.is_some();
        if self.resumed && is_over {
            // A trainer has begun with none, as an epoch does.
            self.trainer.set_statistics(&self.state.statistics).map_err(FitError::Resume)?;
        }
        for epoch in first..self.options.num_epochs {
            if end.is_some() {
                break;
            }
            if epoch > first {
                self.settle_statistics()?;
                self.trainer.restart(self.options.seed.wrapping_add(epoch as i32));
            }
            end = self.epoch(epoch, host)?;
        }
        let without_improvement = match end {
            Some(End::Stopped { epoch, done, count }) => return Ok(Ended::Stopped { epoch, done, count }),
            Some(End::NoImprovement) => Some(self.state.watch.without_improvement),
            None => None,
        };
        let nnet = Box::new(self.result(host)?);
        Ok(Ended::Finished { nnet, epochs: self.state.epochs, without_improvement })
    }

    fn is_patience_over(&self) -> bool {
        let patience = self.options.patience;
        patience > 0 && self.state.watch.without_improvement >= patience
    }

    fn epoch(&mut self, epoch: u64, host: &mut dyn Host) -> Result<Option<End>> {
        let began = Instant::now();
        let before = self.options.compare.then(|| self.trainer.nnet().clone());
        let (sums, times) = match self.train(epoch, host)? {
            Ok(done) => done,
            Err(stopped) => return Ok(Some(stopped)),
        };
        self.state.within = None;
        let loss = sums.loss(&self.plan);
        self.state.epochs = epoch + 1;
        let last = self.state.epochs == self.options.num_epochs;
        let evaluates =
            !self.valid.is_empty() && (last || self.state.epochs.is_multiple_of(self.options.valid_every));
        let rates = self.trainer.learner().map(|learner| learner.rates()).unwrap_or_default();
        let evaluation = if evaluates { Some(self.evaluate(host)?) } else { None };
        host.epoch_done(EpochReport {
            state: &self.state,
            sums: &sums,
            loss,
            rates: &rates,
            evaluation: evaluation.as_ref(),
            times: Times { total: began.elapsed(), ..times },
            before: before.as_ref(),
            trainer: &self.trainer,
        })?;
        let end = self.is_patience_over().then_some(End::NoImprovement);
        if last || end.is_some() || self.state.epochs.is_multiple_of(self.options.keep_every) {
            self.keep(None, host)?;
        }
        Ok(end)
    }

    /// Rounds the statistics that stay from epoch to epoch to the values that a model file would keep.
    fn settle_statistics(&mut self) -> Result<()> {
        if !self.options.keep_statistics {
            return Ok(());
        }
        let through_memory = |nnet: &Nnet| -> nnet3_core::Result<Nnet> {
            let mut w = KaldiWriter::in_memory(true);
            nnet.write(&mut w)?;
            let mut r = KaldiReader::from_bytes("the model", w.into_bytes());
            r.set_binary(true);
            Nnet::read(&mut r)
        };
        let nnet = through_memory(self.trainer.nnet())?;
        self.trainer.set_nnet(&nnet);
        Ok(())
    }

    /// Returns the current network or, with averaging, the network with averaged parameters and statistics for them.
    fn result(&mut self, host: &mut dyn Host) -> Result<Nnet> {
        let mut nnet = self.trainer.nnet().clone();
        nnet.bring_from(self.device)?;
        let costs = self.plan.costs.clone();
        let Some(learner) = self.trainer.learner().filter(|learner| learner.averages()) else {
            return Ok(nnet);
        };
        learner.put_average(&mut nnet);
        nnet.bring_from(self.device)?;
        if nnet.has_batchnorm() {
            let minibatches = host.first_minibatches(STATISTICS_MINIBATCHES)?;
            let objective = FrameObjective::default().with_costs(costs, Vec::new());
            nnet = recompute_stats(objective, nnet, &minibatches, &self.options.prob, self.device, |_| {})?;
        }
        Ok(nnet)
    }

    fn evaluate(&mut self, host: &mut dyn Host) -> Result<Evaluation> {
        let nnet = self.result(host)?;
        let FitOptions { metrics, monitor, min_delta, prob, .. } = &self.options;
        let evaluation =
            Evaluation::of(nnet.clone(), &self.valid, &self.plan.costs, metrics, prob.clone(), self.device)
                .map_err(FitError::Evaluation)?;
        let value = evaluation.value(*monitor);
        if let Some(learner) = self.trainer.learner() {
            learner.evaluated(value);
        }
        if self.state.watch.evaluated(value, *min_delta) {
            host.better(&nnet)?;
        }
        Ok(evaluation)
    }

    /// Lets the host keep the state with the trainer's network, or with this one.
    fn keep(&mut self, nnet: Option<&Nnet>, host: &mut dyn Host) -> Result<()> {
        if !host.keeps_states() {
            return Ok(());
        }
        self.state.learner = self.trainer.learner().map(|learner| learner.state()).unwrap_or_default();
        self.state.statistics = match &self.state.within {
            None => self.trainer.statistics()?,
            Some(_) => Snapshot::default(),
        };
        let nnet = nnet.unwrap_or(self.trainer.nnet());
        if self.device.id() == 0 {
            host.keep_state(nnet, &self.state)?;
        } else {
            let mut nnet = nnet.clone();
            nnet.bring_from(self.device)?;
            host.keep_state(&nnet, &self.state)?;
        }
        // On the host the learner's state is as large as the parameters. It is not read before the next one is kept.
        self.state.learner = LearnerState::default();
        Ok(())
    }
}
