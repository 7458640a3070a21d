//! Options of `nnet3-fit`.

use anyhow::{Context, Result, bail};
use clap::Args;
use nnet3_core::config::{ConfigLine, read_config};
use nnet3_train::learn::fit::Monitor;
use nnet3_train::learn::rules::Rules;
use nnet3_train::learn::{AverageOptions, Normalize};
use nnet3_train::objective::{Metric, metrics};

// Rules and rates of learning.
#[derive(Args, Clone, Debug)]
pub struct RulesOptions {
    /// Optimizer of all parameters, e.g. "adamw learning-rate=.002": kaldi, sgd, rmsprop, adagrad, adadelta, adam, adamw,
    /// adamax, lion, muon, neon-rmsprop, neon-adagrad, neon-adadelta, neon-adam. The default is kaldi (natural gradient) if
    /// there is no --rules
    #[arg(long, default_value = "")]
    pub optimizer: String,
    /// Schedule of the learning rates, e.g. "cosine warm-up=.05": constant, step, set, power, inverse, polynomial,
    /// exponential, cosine, linear, plateau
    #[arg(long, default_value = "")]
    pub schedule: String,
    /// File of lines that begin with optimizer, learn, schedule, clip, cost, initialize; they come after the options
    #[arg(long, default_value = "")]
    pub rules: String,
    /// Limit on the 2-norm of all gradients together
    #[arg(long)]
    pub clip_norm: Option<f64>,
    /// Limit on each element of the gradients
    #[arg(long)]
    pub clip_value: Option<f64>,
    /// Divisor of sums over frames: frames (weights of targets), sequences, none
    #[arg(long, default_value = "frames")]
    pub normalize: String,
    /// Minibatches that make one step
    #[arg(long, default_value_t = 1)]
    pub accumulate: u64,
    /// Running average of the parameters, which is evaluated and written, e.g. "decay=.999" or "decay=.999 warm-up=true"
    #[arg(long, default_value = "")]
    pub average: String,
}

/// The name of the optimiser of `--optimizer`.
const MAIN: &str = "main";

impl RulesOptions {
    /// Returns the lines of the options, then the lines of the file.
    pub fn rules(&self) -> Result<Rules> {
        let mut rules = Rules::default();
        let mut push = |option: &str, text: String| -> Result<()> {
            Ok(rules.push(ConfigLine::parse(format!("--{option}"), text)?)?)
        };
        let default = if self.rules.is_empty() { "kaldi" } else { "" };
        let optimizer = if self.optimizer.is_empty() { default } else { &self.optimizer };
        if !optimizer.is_empty() {
            push("optimizer", format!("optimizer name={MAIN} type={optimizer}"))?;
            push("optimizer", format!("learn components=* optimizer={MAIN}"))?;
        }
        if !self.schedule.is_empty() {
            push("schedule", format!("schedule type={}", self.schedule))?;
        }
        if let Some(norm) = self.clip_norm {
            push("clip-norm", format!("clip norm={norm}"))?;
        }
        if let Some(value) = self.clip_value {
            push("clip-value", format!("clip value={value}"))?;
        }
        if !self.rules.is_empty() {
            for line in read_config(&self.rules)? {
                rules.push(line)?;
            }
        }
        Ok(rules)
    }

    pub fn normalize(&self) -> Result<Normalize> {
        Ok(self.normalize.parse()?)
    }

    pub fn average(&self) -> Result<Option<AverageOptions>> {
        if self.average.is_empty() {
            return Ok(None);
        }
        Ok(Some(AverageOptions::parse(ConfigLine::parse("--average", &*self.average)?)?))
    }
}

// Evaluations and files between epochs.
#[derive(Args, Clone, Debug)]
pub struct CallbackOptions {
    /// Examples for evaluation, merged as those for training
    #[arg(long, default_value = "")]
    pub valid: String,
    /// Epochs from one evaluation to the next
    #[arg(long, default_value_t = 1)]
    pub valid_every: u64,
    /// Metrics to evaluate besides the loss, separated by commas: accuracy, misclassification, logloss, precision,
    /// recall, top-K
    #[arg(long, default_value = "accuracy")]
    pub metrics: String,
    /// File for the model with the best evaluation
    #[arg(long, default_value = "")]
    pub best: String,
    /// Value that selects the best model: loss or one of --metrics
    #[arg(long, default_value = "loss")]
    pub monitor: String,
    /// Stop after this number of successive evaluations without an improvement on the best earlier one; 0 means never
    #[arg(long, default_value_t = 0)]
    pub patience: u64,
    /// By how much an evaluation has to be better
    #[arg(long, default_value_t = 0.0)]
    pub min_delta: f64,
    /// Folder for checkpoints, log/ and events.jsonl
    #[arg(long, default_value = "")]
    pub checkpoint_dir: String,
    /// Epochs from one checkpoint to the next
    #[arg(long, default_value_t = 1)]
    pub checkpoint_every: u64,
    /// Minibatches from one checkpoint within an epoch to the next, besides those after epochs; 0 means none
    #[arg(long, default_value_t = 0)]
    pub checkpoint_minibatches: u64,
    /// Checkpoints after epochs that are kept
    #[arg(long, default_value_t = 1)]
    pub keep: usize,
    /// Continue from the last checkpoint in --checkpoint-dir, if there is one. The result is the same as without the
    /// interruption
    #[arg(long)]
    pub resume: bool,
    /// Histograms of all parameters after each epoch, in events.jsonl
    #[arg(long)]
    pub histograms: bool,
}

impl CallbackOptions {
    pub fn metrics(&self) -> Result<Vec<Metric>> {
        Ok(metrics::parse(&self.metrics)?)
    }

    pub fn monitor(&self) -> Result<Monitor> {
        if self.monitor == "loss" {
            return Ok(Monitor::Loss);
        }
        let metric: Metric = self.monitor.parse().context("--monitor: expected loss or a metric")?;
        match self.metrics()?.contains(&metric) {
            true => Ok(Monitor::Metric(metric)),
            false => bail!("--monitor={metric} is not among --metrics={}", self.metrics),
        }
    }

    /// Checks that the options fit each other.
    pub fn check(&self, plateau: bool) -> Result<()> {
        self.metrics().context("--metrics")?;
        let monitor = self.monitor()?;
        let positive = |name: &str, value: u64| match value {
            0 => bail!("--{name}=0: expected a number above 0"),
            _ => Ok(()),
        };
        positive("valid-every", self.valid_every)?;
        positive("checkpoint-every", self.checkpoint_every)?;
        positive("keep", self.keep as u64)?;
        if self.min_delta < 0.0 || !self.min_delta.is_finite() {
            bail!("--min-delta={}: expected a number that is not negative", self.min_delta);
        }
        let needs_valid = [
            ("--best", !self.best.is_empty()),
            ("--patience", self.patience > 0),
            ("--monitor", monitor != Monitor::Loss),
            ("a schedule of type plateau", plateau),
        ];
        if let Some((what, _)) = needs_valid.iter().find(|(_, used)| *used && self.valid.is_empty()) {
            bail!("{what} needs examples for evaluation: --valid");
        }
        let needs_dir = [
            ("--resume", self.resume),
            ("--histograms", self.histograms),
            ("--keep", self.keep != 1),
            ("--checkpoint-every", self.checkpoint_every != 1),
            ("--checkpoint-minibatches", self.checkpoint_minibatches > 0),
        ];
        if let Some((what, _)) = needs_dir.iter().find(|(_, used)| *used && self.checkpoint_dir.is_empty()) {
            bail!("{what} needs a folder: --checkpoint-dir");
        }
        Ok(())
    }
}
