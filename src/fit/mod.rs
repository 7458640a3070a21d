//! Whole trainings in one process: epochs over a table of examples, evaluations, checkpoints.

mod checkpoint;
mod data;
mod evaluation;
mod happened;
mod histogram;
mod log_files;
mod signals;

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use kaldi_io::log::num;
use kaldi_io::{KaldiReader, KaldiWriter};
use nnet3_core::Random;
use nnet3_core::nnet::Nnet;
use nnet3_core::snapshot::{Keeper, Snapshot};
use nnet3_matrix::Device;
use nnet3_train::NnetExample;
use nnet3_train::combine::recompute_stats;
use nnet3_train::learn::optimizer::OptimizerRule;
use nnet3_train::learn::rules::Rules;
use nnet3_train::learn::state::{LearnerState, LearningState, Within};
use nnet3_train::learn::{LearnerOptions, Plan, Progress};
use nnet3_train::objective::FrameObjective;
use nnet3_train::progress::differences;
use nnet3_train::replicas::{self, Failure, ReplicaRules, Replicas};
use nnet3_train::trainer::{Event, Trainer, TrainerOptions};
use serde_json::json;

use crate::options::fit::{CallbackOptions, Monitor, RulesOptions};
use crate::options::prob::prob_defaults;
use crate::options::training::{ReplicaOptions, TrainingOptions};
use crate::training::timed;
use crate::training_log::Times;
use crate::{messages, models, progress, report};

use checkpoint::Checkpoints;
use data::{Data, DataOptions};
use evaluation::Evaluation;
use happened::Happened;
use log_files::{LogFiles, number};
use signals::Signals;

/// Minibatches of which batch-norm statistics are made for averaged parameters.
const STATISTICS_MINIBATCHES: usize = 100;

/// A training that is to be run.
pub struct Fit {
    pub rules: RulesOptions,
    pub callbacks: CallbackOptions,
    pub training: TrainingOptions,
    pub replicas: ReplicaOptions,
    pub num_epochs: u64,
    pub minibatch_size: String,
    pub shuffle: bool,
    /// Megabytes.
    pub in_memory: u64,
    pub srand: i32,
    pub binary: bool,
    pub dry_run: bool,
    pub egs: String,
    pub output: String,
}

impl Fit {
    /// Runs the whole training, from this network on, with a replica on each of the devices. Returns the program's exit status.
    pub fn run(self, mut nnet: Nnet, devices: &[Device]) -> Result<u8> {
        let device = devices.first().context("expected at least one device")?;
        if devices.len() > 1 && self.callbacks.checkpoint_minibatches > 0 {
            bail!("--checkpoint-minibatches and --num-replicas cannot be used together");
        }
        let rules = self.rules.rules()?;
        if self.num_epochs == 0 {
            bail!("--num-epochs=0: expected a number above 0");
        }
        if !self.training.read_cache.is_empty() || !self.training.write_cache.is_empty() {
            bail!(
                "--read-cache and --write-cache are for nnet3-train: this program compiles once for all epochs"
            );
        }
        let plateau = rules.schedules.iter().any(|line| line.schedule.plateau().is_some());
        self.callbacks.check(plateau)?;
        let data_options = DataOptions {
            sizes: data::sizes(&self.minibatch_size)?,
            shuffle: self.shuffle,
            srand: self.srand,
            in_memory: usize::try_from(self.in_memory).unwrap_or(usize::MAX).saturating_mul(1 << 20),
        };
        let edits = nnet.edit_with(rules.initialize.clone(), &Random::new(self.srand))?;
        let plan = Arc::new(Plan::new(&nnet, &rules)?);
        let trainer_options = self.trainer_options(&plan, devices.len())?;
        if self.dry_run {
            print_table(&plan.table(&nnet));
            return Ok(0);
        }
        KaldiWriter::check(&self.output)?;
        let checkpoints = match &*self.callbacks.checkpoint_dir {
            "" => None,
            folder => Some(Checkpoints::new(folder, self.callbacks.keep)?),
        };
        let saved = match &checkpoints {
            Some(checkpoints) if !self.callbacks.resume => {
                checkpoints.refuse_old_ones()?;
                None
            }
            Some(checkpoints) if self.callbacks.resume => checkpoints.latest()?,
            _ => None,
        };
        let data = Data::open(&self.egs, data_options.clone())?;
        let valid = match &*self.callbacks.valid {
            "" => Vec::new(),
            valid => {
                let options = DataOptions { shuffle: false, in_memory: usize::MAX, ..data_options };
                Data::open(valid, options)
                    .and_then(|mut data| data.first_minibatches(usize::MAX))
                    .context("--valid")?
            }
        };
        let settings = self.settings(&rules, &data);
        let mut state = LearningState { settings: settings.clone(), ..LearningState::default() };
        let resumed = saved.is_some();
        if let Some((saved_nnet, saved)) = saved {
            saved.check_settings(&settings)?;
            nnet.check_same_structure(&saved_nnet).context("the checkpoint is of another network")?;
            if saved.epochs + u64::from(saved.within.is_some()) > self.num_epochs {
                bail!("the checkpoint is of {} epochs, and --num-epochs={}", saved.epochs, self.num_epochs);
            }
            (nnet, state) = (saved_nnet, saved);
            let within =
                state.within.as_ref().map(|within| format!(" and {} minibatches", within.minibatches));
            messages::log(&format!("Going on after {} epochs{}", state.epochs, within.unwrap_or_default()));
        } else {
            report::edits(&edits);
        }
        let learner = LearnerOptions {
            normalize: self.rules.normalize()?,
            average: self.rules.average()?,
            l2_factor: trainer_options.l2_regularize_factor.into(),
        };
        let seed = self.srand.wrapping_add(state.epochs as i32);
        let (objective, with) = (
            FrameObjective::default().with_costs(plan.costs.clone(), Vec::new()),
            Some((plan.clone(), learner)),
        );
        let mut trainer = Trainer::with_rules(objective, nnet, trainer_options.clone(), with, device, seed)?;
        self.training.computation.observe(trainer.runner().executor());
        if let (true, Some(learner)) = (resumed, trainer.learner()) {
            learner
                .set_state(&std::mem::take(&mut state.learner))
                .with_context(|| cannot_go_on(&checkpoints))?;
        }
        if let Some(within) = &state.within {
            trainer.resume(&within.trainer).with_context(|| cannot_go_on(&checkpoints))?;
        }
        let logs = match &checkpoints {
            Some(checkpoints) => Some(LogFiles::open(checkpoints.folder(), state.epochs)?),
            None => None,
        };
        let monitor = self.callbacks.monitor()?;
        let signals = Signals::watch()?;
        let together = Together { devices: devices.to_vec(), trainer_options, learner };
        Run {
            fit: self,
            plan,
            trainer,
            together,
            data,
            valid,
            state,
            checkpoints,
            logs,
            monitor,
            device,
            signals,
        }
        .epochs()
    }

    fn trainer_options(&self, plan: &Plan, devices: usize) -> Result<TrainerOptions> {
        let mut options = self.training.trainer_options(devices)?;
        options.accumulate = self.rules.accumulate;
        let mut first = None;
        for group in &plan.groups {
            let OptimizerRule::Kaldi { momentum, max_param_change } = group.optimizer.rule else { continue };
            let own =
                (momentum.unwrap_or(options.momentum), max_param_change.unwrap_or(options.max_param_change));
            match first {
                None => first = Some((&group.optimizer.name, own)),
                Some((_, other)) if other == own => {}
                Some((name, _)) => bail!(
                    "optimizers '{name}' and '{}', of type kaldi, must have the same momentum and max-param-change",
                    group.optimizer.name
                ),
            }
        }
        match first {
            Some((_, (momentum, max_param_change))) => {
                (options.momentum, options.max_param_change) = (momentum, max_param_change);
            }
            None => {
                let defaults = TrainerOptions::default();
                for (name, given) in [
                    ("momentum", options.momentum != defaults.momentum),
                    ("max-param-change", options.max_param_change != defaults.max_param_change),
                ] {
                    if given {
                        bail!("--{name} is for optimizers of type kaldi, and there is none among these");
                    }
                }
            }
        }
        Ok(options)
    }

    /// What must be the same for a training to go on from a checkpoint.
    fn settings(&self, rules: &Rules, data: &Data) -> Vec<(String, String)> {
        let t = &self.training;
        let mut out: Vec<(String, String)> =
            rules.text.iter().map(|line| ("rule".to_owned(), line.clone())).collect();
        let mut add = |name: &str, value: String| out.push((name.to_owned(), value));
        add("--srand", self.srand.to_string());
        add("--minibatch-size", self.minibatch_size.clone());
        add("--shuffle", self.shuffle.to_string());
        add("--normalize", self.rules.normalize.clone());
        add("--accumulate", self.rules.accumulate.to_string());
        add("--average", self.rules.average.clone());
        add("--max-param-change", t.max_param_change.to_string());
        add("--momentum", t.momentum.to_string());
        add("--l2-regularize-factor", t.l2_regularize_factor.to_string());
        add("--batchnorm-stats-scale", t.batchnorm_stats_scale.to_string());
        add("--zero-component-stats", t.zero_component_stats.to_string());
        add("--store-component-stats", t.store_component_stats.to_string());
        add("--backstitch-training-scale", t.backstitch_training_scale.to_string());
        add("--backstitch-training-interval", t.backstitch_training_interval.to_string());
        add("--monitor", self.callbacks.monitor.clone());
        add("--min-delta", self.callbacks.min_delta.to_string());
        add("--num-replicas", self.replicas.num_replicas.to_string());
        add("--average-period", self.replicas.average_period.to_string());
        add("number of examples", data.examples().to_string());
        add("number of examples in memory", data.slots().to_string());
        out
    }
}

/// A training that runs.
struct Run<'d> {
    fit: Fit,
    plan: Arc<Plan>,
    /// With several replicas it has the network between epochs.
    trainer: Trainer,
    together: Together,
    data: Data,
    /// Minibatches.
    valid: Vec<NnetExample>,
    state: LearningState,
    checkpoints: Option<Checkpoints>,
    logs: Option<LogFiles>,
    monitor: Monitor,
    device: &'d Device,
    signals: Signals,
}

/// What replicas are made with.
struct Together {
    devices: Vec<Device>,
    trainer_options: TrainerOptions,
    learner: LearnerOptions,
}

/// What goes before an error about the last checkpoint.
fn cannot_go_on(checkpoints: &Option<Checkpoints>) -> String {
    let last = checkpoints.as_ref().and_then(|checkpoints| checkpoints.last().ok().flatten());
    let path = last.map(|(_, path)| path.display().to_string());
    format!("cannot go on from {}", path.unwrap_or_else(|| "the checkpoint".to_owned()))
}

/// What a replica has to say, with the place of the minibatch that it is about.
fn of_replica(failure: Failure, place: impl Fn(&str) -> String) -> anyhow::Error {
    match failure.key {
        Some(key) => anyhow::Error::from(failure.error).context(place(&key)),
        None => failure.error.into(),
    }
}

/// How a training ends early.
enum End {
    /// A signal of this number.
    Signal(i32),
    NoImprovement,
}

impl Run<'_> {
    fn epochs(mut self) -> Result<u8> {
        let first = self.state.epochs;
        // An evaluation that was made before a checkpoint may have been the last.
        let mut end = self.is_patience_over().then_some(End::NoImprovement);
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
            self.write_checkpoint()?;
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
        if let Some(within) = self.state.within.take() {
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
        let (started, every) = (done, self.fit.callbacks.checkpoint_minibatches);
        loop {
            let signal = if done < count { self.signals.received() } else { None };
            let due = every > 0 && done > started && done < count && done.is_multiple_of(every);
            if (signal.is_some() || due) && replicas.is_none() {
                self.write_within(done, &mut happened)?;
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
            }),
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

    /// The error that ends a training whose loss is no number; `place` is where that was seen.
    fn not_finite(&self, output: &str, place: &str) -> Result<anyhow::Error> {
        Ok(anyhow!("the loss of '{output}' is not a finite number in {place}: {}", self.what_is_kept()?))
    }

    /// Where a training that ends now can be taken up again.
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

    /// A checkpoint after so many minibatches of the epoch; none where the one after the last epoch says the same.
    fn write_within(&mut self, done: u64, happened: &mut Happened) -> Result<()> {
        let Some(checkpoints) = &self.checkpoints else { return Ok(()) };
        let moment = (self.state.epochs, done);
        if moment == (0, 0) || checkpoints.last()?.is_some_and(|(last, _)| last == moment) {
            return Ok(());
        }
        let trainer = self.trainer.snapshot(&mut |event: Event| happened.event(&event))?;
        // A device tells of the last minibatches only now.
        if let Some(output) = &happened.not_finite {
            return Err(self.not_finite(output, &format!("epoch {}", self.state.epochs + 1))?);
        }
        let mut so_far = Snapshot::default();
        happened.keep(&mut Keeper::taking(&mut so_far))?;
        self.state.within = Some(Within { minibatches: done, trainer, happened: so_far });
        let written = self.write_checkpoint();
        self.state.within = None;
        written
    }

    /// Statistics that stay from epoch to epoch are those that a model file would keep.
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

    /// The network as it is now, or with the running average of its parameters and statistics for them.
    fn result(&mut self) -> Result<Nnet> {
        let mut nnet = self.trainer.nnet().clone();
        let costs = self.plan.costs.clone();
        let Some(learner) = self.trainer.learner().filter(|learner| learner.averages()) else {
            return Ok(nnet);
        };
        learner.put_average(&mut nnet);
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

    /// Log lines and files about an epoch.
    fn report(
        &mut self,
        happened: &Happened,
        loss: f64,
        rates: &[(String, f64)],
        evaluation: Option<&Evaluation>,
        times: Times,
        before: Option<Nnet>,
    ) -> Result<()> {
        let epoch = self.state.epochs;
        let mut line = format!("Epoch {epoch} of {}: loss {}", self.fit.num_epochs, num(loss));
        if let Some(evaluation) = evaluation {
            line += &format!(", valid loss {}", num(evaluation.loss));
            let several = evaluation.outputs.len() > 1;
            for (output, _, metrics) in &evaluation.outputs {
                let of = if several { format!(" of {output}") } else { String::new() };
                metrics.iter().for_each(|(metric, value)| line += &format!(", {metric}{of} {}", num(*value)));
            }
            if self.state.watch.without_improvement == 0 {
                line += " (best)";
            }
        }
        rates.iter().for_each(|(name, rate)| line += &format!(", rate of {name} {}", num(*rate)));
        let mean_norm = happened.norms / happened.gradients as f64;
        if happened.gradients > 0 {
            line += &format!(", gradient {}", num(mean_norm));
        }
        line += &format!(", {} seconds", kaldi_io::text::format_g(times.total.as_secs_f64(), 3));
        messages::log(&line);
        let (Some(logs), Some(before)) = (&self.logs, before) else { return Ok(()) };

        let totals = self.trainer.totals();
        let outputs: serde_json::Map<_, _> =
            totals.iter().map(|total| (total.output.clone(), number(-total.value.average()))).collect();
        let valid = evaluation.map(|evaluation| {
            let outputs = evaluation.outputs.iter().map(|(name, loss, metrics)| {
                let metrics: serde_json::Map<_, _> =
                    metrics.iter().map(|(metric, value)| (metric.to_string(), number(*value))).collect();
                (name.clone(), json!({"loss": number(*loss), "metrics": metrics}))
            });
            json!({"loss": number(evaluation.loss), "outputs": outputs.collect::<serde_json::Map<_, _>>()})
        });
        let rates_json: serde_json::Map<_, _> =
            rates.iter().map(|(name, rate)| (name.clone(), number(*rate))).collect();
        let nnet = self.trainer.nnet();
        let histograms = self.fit.callbacks.histograms.then(|| {
            let each =
                histogram::histograms(nnet).into_iter().map(|(name, bins)| (name, json!(bins.to_vec())));
            each.collect::<serde_json::Map<_, _>>()
        });
        let share = |count: u64| number(count as f64 / happened.gradients.max(1) as f64);
        logs.event(&json!({
            "event": "epoch",
            "epoch": epoch,
            "of": self.fit.num_epochs,
            "minibatches": happened.minibatches,
            "loss": number(loss),
            "outputs": outputs,
            "valid": valid,
            "best": number(self.state.watch.best),
            "without-improvement": self.state.watch.without_improvement,
            "rates": rates_json,
            "gradient-norm": number(mean_norm),
            "clipped": share(happened.clipped),
            "refused": happened.refused,
            "seconds": number(times.total.as_secs_f64()),
            "histograms": histograms,
        }))?;

        let mut train = happened.messages.clone();
        if let Some((_, rate)) = rates.first() {
            train.insert(0, format!("--learning-rate={}", num(*rate)));
        }
        train.extend(totals.iter().map(|total| total.to_string()));
        train.push(times.to_string());
        logs.log(&format!("train.{}.1.log", epoch - 1), &train)?;
        if let Some(evaluation) = evaluation {
            logs.log(&format!("compute_prob_valid.{epoch}.log"), &evaluation.lines)?;
        }
        let mut changes = vec![format!(
            "Relative parameter differences per layer are {}",
            differences(&before, nnet)?.relative
        )];
        changes.extend(
            nnet.info(true).lines().filter(|line| line.starts_with("component name=")).map(str::to_owned),
        );
        logs.log(&format!("progress.{epoch}.log"), &changes)
    }

    fn write_checkpoint(&mut self) -> Result<()> {
        let Some(checkpoints) = &self.checkpoints else { return Ok(()) };
        self.state.learner = self.trainer.learner().map(|learner| learner.state()).unwrap_or_default();
        checkpoints.write(self.trainer.nnet(), &self.state)?;
        // On the host these are as large as the parameters, and nobody asks for them before the next checkpoint.
        self.state.learner = LearnerState::default();
        Ok(())
    }
}

/// Columns of equal width on standard output.
fn print_table<const N: usize>(rows: &[[String; N]]) {
    let widths: Vec<usize> = (0..N).map(|k| rows.iter().map(|row| row[k].len()).max().unwrap_or(0)).collect();
    for row in rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
        println!("{}", cells.join("  ").trim_end());
    }
}
