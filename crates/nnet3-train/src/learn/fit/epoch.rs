//! One epoch: minibatch after minibatch, with one network or several replicas.

use std::sync::Arc;

use nnet3_core::snapshot::{Keeper, Snapshot};

use super::error::{FitError, Result};
use super::{End, EpochSums, Host, Together, Training};
use crate::learn::Progress;
use crate::learn::state::Within;
use crate::objective::FrameObjective;
use crate::replicas::{self, Failure, ReplicaRules, Replicas};
use crate::times::{Times, timed};
use crate::trainer::Event;

/// Makes an error of a replica's failure, with the place of its minibatch.
fn of_replica(failure: Failure, epoch: u64) -> FitError {
    match failure.key {
        Some(key) => FitError::Minibatch { epoch: epoch + 1, key, source: failure.error },
        None => failure.error.into(),
    }
}

/// Fails if the device has told of an objective that is not finite, after the minibatches.
fn check_at_end(sums: &EpochSums, epoch: u64) -> Result<()> {
    match &sums.not_finite {
        Some(output) => {
            Err(FitError::NotFinite { output: output.clone(), epoch: epoch + 1, minibatch: None })
        }
        None => Ok(()),
    }
}

impl Training<'_> {
    /// Trains with the minibatches of an epoch. Returns the end of the training if the host stops it.
    pub(super) fn train(
        &mut self,
        epoch: u64,
        host: &mut dyn Host,
    ) -> Result<std::result::Result<(EpochSums, Times), End>> {
        let mut sums = EpochSums::default();
        let mut times = Times::default();
        let compiled = self.trainer.runner().compiler().timing().total;
        let count = host.begin_epoch(epoch)?;
        let mut done = 0u64;
        let within = self.state.within.take();
        if let Some(within) = &within {
            let mut keeper = Keeper::giving(&within.happened, self.device);
            let put_back = sums.keep(&mut keeper).and_then(|()| keeper.finish());
            put_back.map_err(|error| FitError::Resume(error.into()))?;
            while done < within.minibatches {
                if timed(&mut times.waiting, || host.next_minibatch())?.is_none() {
                    return Err(FitError::Short { expected: within.minibatches, found: done });
                }
                done += 1;
            }
        }
        let mut replicas = self.replicas(epoch)?;
        if let (Some(replicas), Some(Within { trainer: common, replicas: own, .. })) = (&mut replicas, within)
        {
            let state = replicas::State { common, replicas: own };
            replicas.resume(state).map_err(FitError::Resume)?;
        }
        let (started, every) = (done, self.options.keep_minibatches);
        loop {
            let stops = done < count && host.must_stop();
            let due = every > 0 && done > started && done < count && done.is_multiple_of(every);
            if stops || due {
                self.keep_within(done, &mut sums, replicas.as_mut(), host)?;
            }
            if stops {
                return Ok(Err(End::Stopped { epoch: epoch + 1, done, count }));
            }
            let Some((key, minibatch)) = timed(&mut times.waiting, || host.next_minibatch())? else { break };
            let within = (done as f64 / count.max(1) as f64).min(1.0);
            let progress = Progress { epochs: epoch, of: self.options.num_epochs, within };
            if let Some(learner) = self.trainer.learner() {
                learner.set_progress(progress);
            }
            timed(&mut times.training, || {
                let mut report = |event: Event| sums.add(&event, host);
                match &mut replicas {
                    None => self
                        .trainer
                        .train(&minibatch, &mut report)
                        .map_err(|source| FitError::Minibatch { epoch: epoch + 1, key: key.clone(), source }),
                    Some(replicas) => replicas
                        .train_at(Some(progress), key.clone(), minibatch, &mut report)
                        .map_err(|failure| of_replica(failure, epoch)),
                }
            })?;
            done += 1;
            if let Some(output) = sums.not_finite {
                let minibatch = Some((done, key));
                return Err(FitError::NotFinite { output, epoch: epoch + 1, minibatch });
            }
            host.trained(done, &sums);
        }
        sums.minibatches = done;
        let mut report = |event: Event| sums.add(&event, host);
        match replicas {
            None => timed(&mut times.training, || {
                self.trainer.step_of_rest(&mut report);
                self.trainer.settle(&mut report);
                self.trainer.check_device()
            })?,
            Some(replicas) => {
                let (trained, replica) =
                    replicas.finish(&mut report).map_err(|failure| of_replica(failure, epoch))?;
                (times.waiting, times.training) = (replica.waiting, replica.training);
                times.compiling = trained.compiler.timing().total / self.together.devices.len() as u32;
                self.trainer.set_nnet(&trained.nnet);
                if let (Some(learner), Some(state)) = (self.trainer.learner(), &trained.learner) {
                    learner.set_state(state)?;
                }
            }
        }
        // A device tells of the last minibatches only now.
        check_at_end(&sums, epoch)?;
        times.compiling += self.trainer.runner().compiler().timing().total - compiled;
        Ok(Ok((sums, times)))
    }

    /// Replicas for an epoch, if there are to be several.
    fn replicas(&mut self, epoch: u64) -> Result<Option<Replicas>> {
        let Together { devices, trainer_options, learner, average_period, prepare } = &self.together;
        if devices.len() == 1 {
            return Ok(None);
        }
        let (costs, prepare) = (self.plan.costs.clone(), prepare.clone());
        let state = self.trainer.learner().map(|learner| learner.state()).unwrap_or_default();
        let options = replicas::ReplicaOptions {
            objective: Arc::new(move || FrameObjective::default().with_costs(costs.clone(), Vec::new())),
            trainer: trainer_options.clone(),
            seed: self.options.seed.wrapping_add(epoch as i32),
            average_period: *average_period,
            prepare: Arc::new(move |_, trainer| prepare(trainer.runner().executor())),
            rules: Some(ReplicaRules { plan: self.plan.clone(), options: *learner, state: Arc::new(state) }),
        };
        Ok(Some(Replicas::new(self.trainer.nnet(), devices, options)?))
    }

    /// Lets the host keep the state after `done` minibatches of the epoch, unless its last state belongs to this moment.
    fn keep_within(
        &mut self,
        done: u64,
        sums: &mut EpochSums,
        replicas: Option<&mut Replicas>,
        host: &mut dyn Host,
    ) -> Result<()> {
        let moment = (self.state.epochs, done);
        if !host.keeps_states() || moment == (0, 0) || host.last_state()? == Some(moment) {
            return Ok(());
        }
        let mut report = |event: Event| sums.add(&event, host);
        let (average, trainer, own) = match replicas {
            None => (None, self.trainer.snapshot(&mut report)?, Vec::new()),
            Some(replicas) => {
                let (average, state) =
                    replicas.state(&mut report).map_err(|failure| of_replica(failure, self.state.epochs))?;
                (Some(average), state.common, state.replicas)
            }
        };
        // A device tells of the last minibatches only now.
        check_at_end(sums, self.state.epochs)?;
        let mut so_far = Snapshot::default();
        sums.keep(&mut Keeper::taking(&mut so_far))?;
        self.state.within = Some(Within { minibatches: done, trainer, replicas: own, happened: so_far });
        let kept = self.keep(average.as_ref(), host);
        self.state.within = None;
        kept
    }
}
