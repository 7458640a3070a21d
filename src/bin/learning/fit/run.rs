//! A running training: epochs, the minibatches of each, and checkpoints from which it can be resumed.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use kaldi_io::{KaldiReader, KaldiWriter};
use nnet3_core::nnet::Nnet;
use nnet3_core::snapshot::{Keeper, Snapshot};
use nnet3_matrix::Device;
use nnet3_train::NnetExample;
use nnet3_train::combine::recompute_stats;
use nnet3_train::learn::state::{LearnerState, LearningState, Within};
use nnet3_train::learn::{LearnerOptions, Plan, Progress};
use nnet3_train::objective::FrameObjective;
use nnet3_train::replicas::{self, Failure, ReplicaRules, Replicas};
use nnet3_train::trainer::{Event, Trainer, TrainerOptions};

use super::Fit;
use super::checkpoint::Checkpoints;
use super::data::Data;
use super::evaluation::Evaluation;
use super::happened::Happened;
use super::log_files::LogFiles;
use super::signals::Signals;
use crate::learning::options::Monitor;
use nnet3::options::prob::prob_defaults;
use nnet3::training::timed;
use nnet3::training_log::Times;
use nnet3::{messages, models, progress};

/// Number of minibatches for the batch-norm statistics of averaged parameters.
const STATISTICS_MINIBATCHES: usize = 100;

/// A training that runs.
pub(super) struct Run<'d> {
    pub fit: Fit,
    pub plan: Arc<Plan>,
    /// The trainer. Between epochs it has the network, even if there are several replicas.
    pub trainer: Trainer,
    pub together: Together,
    pub data: Data,
    /// Minibatches.
    pub valid: Vec<NnetExample>,
    pub state: LearningState,
    /// True if the state comes from a checkpoint.
    pub resumed: bool,
    pub checkpoints: Option<Checkpoints>,
    pub logs: Option<LogFiles>,
    pub monitor: Monitor,
    pub device: &'d Device,
    pub signals: Signals,
}

/// The common part of replicas.
pub(super) struct Together {
    pub devices: Vec<Device>,
    pub trainer_options: TrainerOptions,
    pub learner: LearnerOptions,
}

/// Prefix of an error about the last checkpoint.
pub(super) fn cannot_go_on(checkpoints: &Option<Checkpoints>) -> String {
    let last = checkpoints.as_ref().and_then(|checkpoints| checkpoints.last().ok().flatten());
    let path = last.map(|(_, path)| path.display().to_string());
    format!("cannot go on from {}", path.unwrap_or_else(|| "the checkpoint".to_owned()))
}

/// Makes an error of a replica's failure, with the place of its minibatch.
fn of_replica(failure: Failure, place: impl Fn(&str) -> String) -> anyhow::Error {
    match failure.key {
        Some(key) => anyhow::Error::from(failure.error).context(place(&key)),
        None => failure.error.into(),
    }
}

/// Reasons for an early end of a training.
enum End {
    /// A signal of this number.
    Signal(i32),
    NoImprovement,
}

impl Run<'_> {
    pub(super) fn epochs(mut self) -> Result<u8> {
        let first = self.state.epochs;
        // An evaluation that was made before a checkpoint may have been the last.
        let mut end = self.is_patience_over().then_some(End::NoImprovement);
        let is_over = first >= self.fit.num_epochs || end.is_some();
        if self.resumed && is_over {
            // A trainer has begun with none, as an epoch does.
            let put_back = self.trainer.set_statistics(&self.state.statistics);
            put_back.with_context(|| cannot_go_on(&self.checkpoints))?;
        }
        for epoch in first..self.fit.num_epochs {
            if end.is_some() {
                break;
            }
            if epoch > first {
                self.settle_statistics()?;
                self.trainer.restart(self.fit.srand.wrapping_add(epoch as i32));
            }
            end = self.epoch(epoch)?;
        }
        match end {
            Some(End::Signal(signal)) => return Ok(u8::try_from(128 + signal).unwrap_or(u8::MAX)),
            Some(End::NoImprovement) => messages::log(&format!(
                "Stopped after {} epochs: {} evaluations in a row were not better than the best before them",
                self.state.epochs, self.state.watch.without_improvement
            )),
            None => {}
        }
        let nnet = self.result()?;
        models::save_trained(&nnet, &self.fit.output, self.fit.binary)?;
        messages::log(&format!("Wrote model to {}", self.fit.output));
        Ok(0)
    }

    fn is_patience_over(&self) -> bool {
        let patience = self.fit.callbacks.patience;
        patience > 0 && self.state.watch.without_improvement >= patience
    }

    fn epoch(&mut self, epoch: u64) -> Result<Option<End>> {
        let began = Instant::now();
        let before = self.logs.is_some().then(|| self.trainer.nnet().clone());
        let (happened, times) = match self.train(epoch)? {
            Ok(done) => done,
            Err(signal) => return Ok(Some(End::Signal(signal))),
        };
        self.state.within = None;
        let loss = happened.loss(&self.plan);
        self.state.epochs = epoch + 1;
        let last = self.state.epochs == self.fit.num_epochs;
        let callbacks = &self.fit.callbacks;
        let evaluates =
            !self.valid.is_empty() && (last || self.state.epochs.is_multiple_of(callbacks.valid_every));
        let rates = self.trainer.learner().map(|learner| learner.rates()).unwrap_or_default();
        let evaluation = if evaluates { Some(self.evaluate()?) } else { None };
        self.report(
            &happened,
            loss,
            &rates,
            evaluation.as_ref(),
            Times { total: began.elapsed(), ..times },
            before,
        )?;
        let end = self.is_patience_over().then_some(End::NoImprovement);
        if last || end.is_some() || self.state.epochs.is_multiple_of(self.fit.callbacks.checkpoint_every) {
            self.write_checkpoint(None)?;
        }
        Ok(end)
    }

    /// Minibatch after minibatch. The signal that ends the training, if there is one.
    fn train(&mut self, epoch: u64) -> Result<std::result::Result<(Happened, Times), i32>> {
        let of = self.fit.num_epochs;
        let bar = progress::counter("minibatches", "");
        let mut happened = Happened::default();
        let mut times = Times::default();
        let compiled = self.trainer.runner().compiler().timing().total;
        let mut minibatches = self.data.epoch(epoch)?;
        let count = minibatches.count();
        let mut done = 0u64;
        let within = self.state.within.take();
        if let Some(within) = &within {
            let mut keeper = Keeper::giving(&within.happened, self.device);
            let put_back = happened.keep(&mut keeper).and_then(|()| keeper.finish());
            put_back.with_context(|| cannot_go_on(&self.checkpoints))?;
            while done < within.minibatches {
                timed(&mut times.waiting, || minibatches.next())?.with_context(|| {
                    format!(
                        "the checkpoint is of minibatch {} of an epoch, which has only {done}",
                        within.minibatches
                    )
                })?;
                done += 1;
            }
        }
        let mut replicas = self.replicas(epoch)?;
        if let (Some(replicas), Some(Within { trainer: common, replicas: own, .. })) = (&mut replicas, within)
        {
            let state = replicas::State { common, replicas: own };
            replicas.resume(state).with_context(|| cannot_go_on(&self.checkpoints))?;
        }
        let (started, every) = (done, self.fit.callbacks.checkpoint_minibatches);
        loop {
            let signal = if done < count { self.signals.received() } else { None };
            let due = every > 0 && done > started && done < count && done.is_multiple_of(every);
            if signal.is_some() || due {
                self.write_within(done, &mut happened, replicas.as_mut())?;
            }
            if let Some(signal) = signal {
                drop(bar);
                messages::warn(&format!(
                    "stopped by signal {signal} in epoch {} after {done} of {count} minibatches: {}",
                    epoch + 1,
                    self.what_is_kept()?
                ));
                return Ok(Err(signal));
            }
            let Some((key, minibatch)) = timed(&mut times.waiting, || minibatches.next())? else { break };
            let within = (done as f64 / count.max(1) as f64).min(1.0);
            let progress = Progress { epochs: epoch, of, within };
            if let Some(learner) = self.trainer.learner() {
                learner.set_progress(progress);
            }
            let place = |key: &str| format!("epoch {}, minibatch {key}", epoch + 1);
            timed(&mut times.training, || match &mut replicas {
                None => {
                    let mut report = |event: Event| happened.event(&event);
                    self.trainer.train(&minibatch, &mut report).with_context(|| place(&key))
                }
                Some(replicas) => {
                    let mut report = |event: Event| happened.event(&event);
                    let done = replicas.train_at(Some(progress), key.clone(), minibatch, &mut report);
                    done.map_err(|failure| of_replica(failure, place))
                }
            })?;
            done += 1;
            if let Some(output) = &happened.not_finite {
                let place = format!("minibatch {done} ({key}) of epoch {}", epoch + 1);
                return Err(self.not_finite(output, &place)?);
            }
            if bar.is_shown() {
                bar.inc();
                let loss = kaldi_io::text::format_g(happened.loss(&self.plan), 4);
                bar.note(format!("of {count}, epoch {} of {of}, loss {loss}", epoch + 1));
            }
        }
        happened.minibatches = done;
        let mut report = |event: Event| happened.event(&event);
        match replicas {
            None => timed(&mut times.training, || {
                self.trainer.step_of_rest(&mut report);
                self.trainer.settle(&mut report);
                self.trainer.check_device()
            })?,
            Some(replicas) => {
                let place = |key: &str| format!("epoch {}, minibatch {key}", epoch + 1);
                let (trained, replica) =
                    replicas.finish(&mut report).map_err(|failure| of_replica(failure, place))?;
                (times.waiting, times.training) = (replica.waiting, replica.training);
                times.compiling = trained.compiler.timing().total / self.together.devices.len() as u32;
                self.trainer.set_nnet(&trained.nnet);
                if let (Some(learner), Some(state)) = (self.trainer.learner(), &trained.learner) {
                    learner.set_state(state)?;
                }
            }
        }
        // A device tells of the last minibatches only now.
        if let Some(output) = &happened.not_finite {
            return Err(self.not_finite(output, &format!("epoch {}", epoch + 1))?);
        }
        times.compiling += self.trainer.runner().compiler().timing().total - compiled;
        Ok(Ok((happened, times)))
    }

    /// Replicas for an epoch, if there are to be several.
    fn replicas(&mut self, epoch: u64) -> Result<Option<Replicas>> {
        let Together { devices, trainer_options, learner } = &self.together;
        if devices.len() == 1 {
            return Ok(None);
        }
        let (costs, training) = (self.plan.costs.clone(), self.fit.training.clone());
        let state = self.trainer.learner().map(|learner| learner.state()).unwrap_or_default();
        let options = replicas::ReplicaOptions {
            objective: Arc::new(move || FrameObjective::default().with_costs(costs.clone(), Vec::new())),
            trainer: trainer_options.clone(),
            seed: self.fit.srand.wrapping_add(epoch as i32),
            average_period: self.fit.replicas.average_period,
            prepare: Arc::new(move |_, trainer| training.computation.observe(trainer.runner().executor())),
            rules: Some(ReplicaRules { plan: self.plan.clone(), options: *learner, state: Arc::new(state) }),
        };
        Ok(Some(Replicas::new(self.trainer.nnet(), devices, options)?))
    }

    /// Makes the error that ends a training with a loss that is not finite; `place` is the place of its discovery.
    fn not_finite(&self, output: &str, place: &str) -> Result<anyhow::Error> {
        Ok(anyhow!("the loss of '{output}' is not a finite number in {place}: {}", self.what_is_kept()?))
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
        Ok(match !best.is_empty() && self.state.watch.best.is_finite() {
            true => format!("{last}; the best model so far is {best}"),
            false => last,
        })
    }

    /// Writes a checkpoint after `done` minibatches of the epoch, unless the last checkpoint belongs to this moment.
    fn write_within(
        &mut self,
        done: u64,
        happened: &mut Happened,
        replicas: Option<&mut Replicas>,
    ) -> Result<()> {
        let Some(checkpoints) = &self.checkpoints else { return Ok(()) };
        let moment = (self.state.epochs, done);
        if moment == (0, 0) || checkpoints.last()?.is_some_and(|(last, _)| last == moment) {
            return Ok(());
        }
        let mut report = |event: Event| happened.event(&event);
        let (average, trainer, own) = match replicas {
            None => (None, self.trainer.snapshot(&mut report)?, Vec::new()),
            Some(replicas) => {
                let place = |key: &str| format!("epoch {}, minibatch {key}", self.state.epochs + 1);
                let (average, state) =
                    replicas.state(&mut report).map_err(|failure| of_replica(failure, place))?;
                (Some(average), state.common, state.replicas)
            }
        };
        // A device tells of the last minibatches only now.
        if let Some(output) = &happened.not_finite {
            return Err(self.not_finite(output, &format!("epoch {}", self.state.epochs + 1))?);
        }
        let mut so_far = Snapshot::default();
        happened.keep(&mut Keeper::taking(&mut so_far))?;
        self.state.within = Some(Within { minibatches: done, trainer, replicas: own, happened: so_far });
        let written = self.write_checkpoint(average.as_ref());
        self.state.within = None;
        written
    }

    /// Rounds the statistics that stay from epoch to epoch to the values that a model file would keep.
    fn settle_statistics(&mut self) -> Result<()> {
        if self.fit.training.zero_component_stats {
            return Ok(());
        }
        let mut w = KaldiWriter::in_memory(true);
        self.trainer.nnet().write(&mut w)?;
        let mut r = KaldiReader::from_bytes("the model", w.into_bytes());
        r.set_binary(true);
        let nnet = Nnet::read(&mut r)?;
        self.trainer.set_nnet(&nnet);
        Ok(())
    }

    /// Returns the current network or, with averaging, the network with averaged parameters and statistics for them.
    fn result(&mut self) -> Result<Nnet> {
        let mut nnet = self.trainer.nnet().clone();
        nnet.bring_from(self.device)?;
        let costs = self.plan.costs.clone();
        let Some(learner) = self.trainer.learner().filter(|learner| learner.averages()) else {
            return Ok(nnet);
        };
        learner.put_average(&mut nnet);
        nnet.bring_from(self.device)?;
        if nnet.has_batchnorm() {
            let minibatches = self.data.first_minibatches(STATISTICS_MINIBATCHES)?;
            let objective = FrameObjective::default().with_costs(costs, Vec::new());
            nnet = recompute_stats(objective, nnet, &minibatches, &prob_defaults(), self.device, |_| {})?;
        }
        Ok(nnet)
    }

    fn evaluate(&mut self) -> Result<Evaluation> {
        let nnet = self.result()?;
        let metrics = self.fit.callbacks.metrics()?;
        let evaluation = Evaluation::of(nnet.clone(), &self.valid, &self.plan.costs, &metrics, self.device)
            .context("--valid")?;
        let value = evaluation.value(self.monitor);
        if let Some(learner) = self.trainer.learner() {
            learner.evaluated(value);
        }
        let better = self.state.watch.evaluated(value, self.fit.callbacks.min_delta);
        let best = &self.fit.callbacks.best;
        if better && !best.is_empty() {
            models::save_trained(&nnet, best, self.fit.binary)?;
        }
        Ok(evaluation)
    }

    /// A checkpoint of the trainer's network, or of this one.
    fn write_checkpoint(&mut self, nnet: Option<&Nnet>) -> Result<()> {
        let Some(checkpoints) = &self.checkpoints else { return Ok(()) };
        self.state.learner = self.trainer.learner().map(|learner| learner.state()).unwrap_or_default();
        self.state.statistics = match &self.state.within {
            None => self.trainer.statistics()?,
            Some(_) => Snapshot::default(),
        };
        let nnet = nnet.unwrap_or(self.trainer.nnet());
        if self.device.id() == 0 {
            checkpoints.write(nnet, &self.state)?;
        } else {
            let mut nnet = nnet.clone();
            nnet.bring_from(self.device)?;
            checkpoints.write(&nnet, &self.state)?;
        }
        // On the host the learner's state is as large as the parameters. It is not read before the next checkpoint.
        self.state.learner = LearnerState::default();
        Ok(())
    }
}
