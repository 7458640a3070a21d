//! Whole trainings in one process: options and initial state. The training itself is `nnet3_train::learn::fit`.

mod checkpoint;
mod data;
mod digest;
mod epoch_report;
mod histogram;
mod log_files;
mod surroundings;

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use kaldi_cli::StandardOutput;
use kaldi_io::KaldiWriter;
use nnet3_core::Random;
use nnet3_core::nnet::Nnet;
use nnet3_matrix::Device;
use nnet3_train::learn::fit::{Ended, FitOptions, Together, Training};
use nnet3_train::learn::optimizer::{Kaldi, OptimizerRule};
use nnet3_train::learn::rules::Rules;
use nnet3_train::learn::state::LearningState;
use nnet3_train::learn::{LearnerOptions, Plan};
use nnet3_train::objective::FrameObjective;
use nnet3_train::trainer::{Trainer, TrainerOptions};

use crate::learning::options::{CallbackOptions, RulesOptions};
use nnet3::options::prob::prob_defaults;
use nnet3::options::training::{ReplicaOptions, TrainingOptions};
use nnet3::{messages, models, report};

use checkpoint::Checkpoints;
use data::{Data, DataOptions};
use log_files::LogFiles;
use surroundings::{Surroundings, cannot_go_on};

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
    /// Runs the whole training, from this network on, with a replica on each of the devices. Returns the program's exit
    /// status.
    pub fn run(self, mut nnet: Nnet, devices: &[Device]) -> Result<u8> {
        let device = devices.first().context("expected at least one device")?;
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
            digest: !self.callbacks.checkpoint_dir.is_empty(),
        };
        let edits = nnet.edit_with(rules.initialize.clone(), &Random::new(self.srand))?;
        let plan = Arc::new(Plan::new(&nnet, &rules)?);
        let trainer_options = self.trainer_options(&plan, devices.len())?;
        if self.dry_run {
            StandardOutput::print(table(&plan.table(&nnet)))?;
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
        let (valid, valid_digest) = match &*self.callbacks.valid {
            "" => (Vec::new(), String::new()),
            valid => {
                let options = DataOptions { shuffle: false, in_memory: usize::MAX, ..data_options };
                Data::open(valid, options)
                    .and_then(|mut data| Ok((data.first_minibatches(usize::MAX)?, data.digest())))
                    .context("--valid")?
            }
        };
        let mut settings = self.settings(&rules, &data);
        if checkpoints.is_some() {
            let mut add = |name: &str, digest: String| settings.push((name.to_owned(), digest));
            add("the checksum of the first model", digest::of_network(&nnet)?);
            add("the checksum of the examples", data.digest());
            add("the checksum of --valid", valid_digest);
        }
        let mut state = LearningState { settings: settings.clone(), ..LearningState::default() };
        let resumed = saved.is_some();
        if let Some((saved_nnet, saved)) = saved {
            saved.check_settings(&settings)?;
            nnet.check_same_structure(&saved_nnet).context("the checkpoint is of another network")?;
            if saved.epochs + u64::from(saved.within.is_some()) > self.num_epochs {
                bail!(
                    "the checkpoint is after {} epochs, but --num-epochs={}",
                    saved.epochs,
                    self.num_epochs
                );
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
        // States of replicas are passed on when the replicas exist.
        if let (Some(within), 1) = (&state.within, devices.len()) {
            trainer.resume(&within.trainer).with_context(|| cannot_go_on(&checkpoints))?;
        }
        let logs = match &checkpoints {
            Some(checkpoints) => Some(LogFiles::open(checkpoints.folder(), state.epochs)?),
            None => None,
        };
        let computation = self.training.computation.clone();
        let together = Together {
            devices: devices.to_vec(),
            trainer_options,
            learner,
            average_period: self.replicas.average_period,
            prepare: Arc::new(move |executor| computation.observe(executor)),
        };
        let options = self.fit_options(logs.is_some())?;
        kaldi_io::interruption::defer();
        let mut surroundings = Surroundings {
            plan: plan.clone(),
            data,
            checkpoints,
            logs,
            has_best: state.watch.best.is_finite(),
            running: None,
            fit: self,
        };
        let training = Training { options, plan, trainer, together, valid, state, resumed, device };
        match training.run(&mut surroundings) {
            Ok(Ended::Stopped { epoch, done, count }) => surroundings.stopped(epoch, done, count),
            Ok(Ended::Finished { nnet, epochs, without_improvement }) => {
                if let Some(evaluations) = without_improvement {
                    messages::log(&format!(
                        "Stopped after {epochs} epochs: {evaluations} evaluations in a row were not better than the best \
                         before them"
                    ));
                }
                let Fit { output, binary, .. } = &surroundings.fit;
                models::save_trained(&nnet, output, *binary)?;
                messages::log(&format!("Wrote model to {output}"));
                Ok(0)
            }
            Err(error) => Err(surroundings.error(error)?),
        }
    }

    fn fit_options(&self, compare: bool) -> Result<FitOptions> {
        let callbacks = &self.callbacks;
        Ok(FitOptions {
            num_epochs: self.num_epochs,
            seed: self.srand,
            keep_statistics: !self.training.zero_component_stats,
            valid_every: callbacks.valid_every,
            metrics: callbacks.metrics()?,
            monitor: callbacks.monitor()?,
            min_delta: callbacks.min_delta,
            patience: callbacks.patience,
            keep_every: callbacks.checkpoint_every,
            keep_minibatches: callbacks.checkpoint_minibatches,
            compare,
            prob: prob_defaults(),
        })
    }

    fn trainer_options(&self, plan: &Plan, devices: usize) -> Result<TrainerOptions> {
        let mut options = self.training.trainer_options(devices)?;
        options.accumulate = self.rules.accumulate;
        let mut first = None;
        for group in &plan.groups {
            let OptimizerRule::Kaldi(Kaldi { momentum, max_param_change }) = group.optimizer.rule else {
                continue;
            };
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

    /// Settings that must stay the same for a training to continue from a checkpoint.
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

/// Columns of equal width.
fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let widths: Vec<usize> = (0..N).map(|k| rows.iter().map(|row| row[k].len()).max().unwrap_or(0)).collect();
    let line = |row: &[String; N]| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}
