//! The surroundings of a training: examples, progress, log lines and files.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use kaldi_io::interruption;
use nnet3_core::nnet::Nnet;
use nnet3_train::NnetExample;
use nnet3_train::learn::Plan;
use nnet3_train::learn::fit::{EpochReport, EpochSums, FitError, Host, HostError, Moment};
use nnet3_train::learn::state::LearningState;
use nnet3_train::trainer::Event;

use super::Fit;
use super::checkpoint::Checkpoints;
use super::data::{Data, Epoch};
use super::log_files::LogFiles;
use nnet3::{messages, models, progress, training_log};

/// The surroundings of a training.
pub(super) struct Surroundings {
    pub fit: Fit,
    pub plan: Arc<Plan>,
    pub data: Data,
    pub checkpoints: Option<Checkpoints>,
    pub logs: Option<LogFiles>,
    /// True if a file has the model with the best evaluation.
    pub has_best: bool,
    pub running: Option<Running>,
}

/// The epoch that runs.
pub(super) struct Running {
    /// From 1.
    number: u64,
    minibatches: Epoch,
    bar: progress::Counter,
}

/// Prefix of an error about the last checkpoint.
pub(super) fn cannot_go_on(checkpoints: &Option<Checkpoints>) -> String {
    let last = checkpoints.as_ref().and_then(|checkpoints| checkpoints.last().ok().flatten());
    let path = last.map(|(_, path)| path.display().to_string());
    format!("cannot continue from {}", path.unwrap_or_else(|| "the checkpoint".to_owned()))
}

impl Surroundings {
    /// Warns that a signal has stopped the training, and ends the process by it.
    pub fn stopped(&mut self, epoch: u64, done: u64, count: u64) -> Result<u8> {
        self.running = None;
        let signal = interruption::received().unwrap_or_default();
        messages::warn(&format!(
            "stopped by {} in epoch {epoch} after {done} of {count} minibatches: {}",
            interruption::name(signal),
            self.what_is_kept()?
        ));
        // (The process ends here, and the files are closed before.)
        (self.logs, self.checkpoints) = (None, None);
        Ok(kaldi_cli::end_by(signal))
    }

    /// Adds options and files to an error.
    pub fn error(&self, error: FitError) -> Result<anyhow::Error> {
        Ok(match error {
            FitError::NotFinite { .. } => anyhow!("{error}: {}", self.what_is_kept()?),
            FitError::Resume(source) => anyhow::Error::from(source).context(cannot_go_on(&self.checkpoints)),
            FitError::Evaluation(source) => anyhow::Error::from(source).context("--valid"),
            FitError::Host(error) => anyhow!(error),
            error => error.into(),
        })
    }

    /// Describes the checkpoint from which an interrupted training can be resumed.
    fn what_is_kept(&self) -> Result<String> {
        let last = match &self.checkpoints {
            None => "there is no checkpoint, for --checkpoint-dir was not given".to_owned(),
            Some(checkpoints) => match checkpoints.last()? {
                None => "there is no checkpoint yet".to_owned(),
                Some((_, path)) => {
                    format!("the last checkpoint is {}, and --resume=true goes on from there", path.display())
                }
            },
        };
        let best = &self.fit.callbacks.best;
        Ok(match !best.is_empty() && self.has_best {
            true => format!("{last}; the best model so far is {best}"),
            false => last,
        })
    }
}

impl Host for Surroundings {
    fn begin_epoch(&mut self, epoch: u64) -> Result<u64, HostError> {
        let bar = progress::counter("minibatches", "");
        let minibatches = self.data.epoch(epoch)?;
        let count = minibatches.count();
        self.running = Some(Running { number: epoch + 1, minibatches, bar });
        Ok(count)
    }

    fn next_minibatch(&mut self) -> Result<Option<(String, NnetExample)>, HostError> {
        Ok(self.running.as_mut().map_or(Ok(None), |running| running.minibatches.next())?)
    }

    fn first_minibatches(&mut self, count: usize) -> Result<Vec<NnetExample>, HostError> {
        Ok(self.data.first_minibatches(count)?)
    }

    fn must_stop(&self) -> bool {
        interruption::received().is_some()
    }

    fn trained(&mut self, _: u64, sums: &EpochSums) {
        if let Some(Running { number, minibatches, bar }) = &mut self.running
            && bar.is_shown()
        {
            bar.inc();
            let (count, of) = (minibatches.count(), self.fit.num_epochs);
            let loss = kaldi_io::text::format_g(sums.loss(&self.plan), 4);
            bar.note(format!("of {count}, epoch {number} of {of}, loss {loss}"));
        }
    }

    fn event(&mut self, event: &Event) {
        training_log::event(event);
    }

    fn epoch_done(&mut self, report: EpochReport<'_>) -> Result<(), HostError> {
        self.running = None;
        Ok(self.report(&report)?)
    }

    fn keeps_states(&self) -> bool {
        self.checkpoints.is_some()
    }

    fn last_state(&self) -> Result<Option<Moment>, HostError> {
        let Some(checkpoints) = &self.checkpoints else { return Ok(None) };
        Ok(checkpoints.last()?.map(|(moment, _)| moment))
    }

    fn keep_state(&mut self, nnet: &Nnet, state: &LearningState) -> Result<(), HostError> {
        Ok(self.checkpoints.as_ref().map_or(Ok(()), |checkpoints| checkpoints.write(nnet, state))?)
    }

    fn better(&mut self, nnet: &Nnet) -> Result<(), HostError> {
        self.has_best = true;
        match &*self.fit.callbacks.best {
            "" => Ok(()),
            best => Ok(models::save_trained(nnet, best, self.fit.binary)?),
        }
    }
}
