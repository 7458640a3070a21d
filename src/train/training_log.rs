//! Log lines about training and evaluation. Scripts parse most of them.

use std::collections::BTreeMap;

use kaldi_cli::log::Site;
use kaldi_cli::log::num;
use kaldi_cli::log::sites::{
    COMPILER, GLOBAL_MAX_CHANGE_STATS, MAX_CHANGE, MAX_CHANGE_STATS, ORTHONORMAL, PROB_ACCURACY,
    PROB_OBJECTIVE, TRAIN_PARTIAL_PHASE, TRAIN_PHASE, TRAIN_TOTAL, TRAIN_TOTAL_PARSED,
};
use kaldi_cli::{kaldi_log, kaldi_vlog, kaldi_warn};
use kaldi_io::text::format_g;

use crate::messages;
use nnet3_core::execute::CachingCompiler;
use nnet3_core::forward::batch::BatchStats;
use nnet3_train::diagnostics::{ProbComputer, accuracy_lines};
use nnet3_train::ledger::Remark;
use nnet3_train::objective::{FrameObjective, Objective};
use nnet3_train::times::Times;
use nnet3_train::trainer::{Event, Trained};

const INFINITE_CHANGE: Site = Site::new("UpdateNnetWithMaxChange", "nnet-utils.cc", 2187);
const EXCESS: Site = Site::new("UpdateNnetWithMaxChange", "nnet-utils.cc", 2157);
const MEMORY: Site = Site::main("nnet3-train.cc", 106);
const TIMES: Site = Site::main("nnet3-train.cc", 105);
const PER_DIM_ACCURACY: Site = Site::new("PrintTotalStats", "nnet-diagnostics.cc", 195);

/// Sums of objectives and weights of all minibatches so far. A progress bar shows their quotients.
#[derive(Default)]
pub struct SoFar(BTreeMap<String, (f64, f64)>);

impl SoFar {
    /// Adds an event; returns true if it was an objective.
    pub fn add(&mut self, event: &Event) -> bool {
        let Event::Objective { output, value, .. } = event else { return false };
        let (objective, weight) = self.0.entry(output.clone()).or_default();
        *objective += value.objective;
        *weight += value.weight;
        true
    }
}

impl std::fmt::Display for SoFar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, (output, (objective, weight))) in self.0.iter().enumerate() {
            let average = format_g(objective / weight, 4);
            write!(f, "{}objective of {output} {average}", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

/// The log lines of a training program.
pub struct TrainingLines<'l> {
    /// Logs an event.
    pub event: fn(&Event),
    /// Logs the totals. Returns false if no output had any weight.
    pub totals: Box<dyn Fn(&Trained) -> bool + 'l>,
    /// The beginning of the message that names the file of the model.
    pub written: &'static str,
}

impl Default for TrainingLines<'_> {
    fn default() -> Self {
        TrainingLines { event, totals: Box::new(training_totals), written: "Wrote model to" }
    }
}

/// Logs what happened during training.
pub fn event(event: &Event) {
    match event {
        Event::Objective { .. } | Event::Gradient { .. } => {}
        Event::Phase(phase) if phase.is_complete() => kaldi_log!(TRAIN_PHASE, "{phase}"),
        Event::Phase(phase) => kaldi_log!(TRAIN_PARTIAL_PHASE, "{phase}"),
        Event::MaxChange(limits) => {
            limits.limited.iter().for_each(|excess| kaldi_vlog!(2, EXCESS, "{excess}"));
            kaldi_log!(MAX_CHANGE, "{limits}")
        }
        Event::ChangeRefused { minibatch } => {
            kaldi_warn!(INFINITE_CHANGE, "Infinite parameter change, will not apply. (Minibatch {minibatch})")
        }
        Event::Constraint { component, warning } => {
            kaldi_warn!(ORTHONORMAL, "{warning}; component is {component}")
        }
        Event::Remark { remark, .. } => self::remark(remark),
        Event::Memory { memory, .. } => kaldi_log!(MEMORY, "{memory}"),
    }
}

/// Logs a remark of an objective.
fn remark(remark: &Remark) {
    match remark {
        Remark::Log(text) => messages::log(text),
        Remark::Warning(text) => messages::warn(text),
    }
}

/// Logs the objective's remarks about the examples so far.
pub fn remarks<O: Objective>(computer: &mut ProbComputer<O>) {
    computer.take_remarks().iter().for_each(remark);
}

/// Logs the totals of training; false if no output had any weight.
pub fn training_totals(trained: &Trained) -> bool {
    for total in &trained.totals {
        kaldi_log!(TRAIN_TOTAL, "{total}");
        kaldi_log!(
            TRAIN_TOTAL_PARSED,
            "[this line is to be parsed by a script:] log-prob-per-frame={}",
            num(total.value.average())
        );
    }
    let limits = &trained.max_change;
    limits.component_lines().iter().for_each(|line| kaldi_log!(MAX_CHANGE_STATS, "{line}"));
    if let Some(line) = limits.global_line() {
        kaldi_log!(GLOBAL_MAX_CHANGE_STATS, "{line}");
    }
    trained.totals.iter().any(|total| total.value.weight != 0.0)
}

/// Logs objectives; false if no output had any weight.
pub fn prob_totals<O: Objective>(computer: &ProbComputer<O>) -> bool {
    for (name, totals) in computer.totals() {
        kaldi_log!(PROB_OBJECTIVE, "{}", totals.objective_line(name));
    }
    computer.totals().values().any(|totals| totals.objective.weight > 0.0)
}

/// Logs objectives and accuracies; false if no output had any weight.
pub fn frame_totals(computer: &ProbComputer<FrameObjective>) -> bool {
    let useful = prob_totals(computer);
    for (name, accuracy) in computer.objective().accuracy() {
        for (i, line) in accuracy_lines(accuracy, name).iter().enumerate() {
            kaldi_log!(if i == 0 { PROB_ACCURACY } else { PER_DIM_ACCURACY }, "{line}");
        }
    }
    computer.objective().metric_lines().iter().for_each(|line| messages::log(line));
    useful
}

/// Logs how long compilation took.
pub fn compilation(compiler: &CachingCompiler) {
    if let Some(summary) = compiler.timing().summary() {
        kaldi_log!(COMPILER, "{summary}");
    }
}

/// Logs the times of the parts of training.
pub fn times(times: &Times) {
    kaldi_log!(TIMES, "{times}");
}

/// Logs the minibatches of chunks that were run, and their fullness.
pub fn minibatches(stats: &BatchStats) {
    const SITE: Site = Site::new("PrintMinibatchStats", "nnet-batch-compute.cc", 112);
    let (minibatches, tasks, seconds) = stats.totals();
    kaldi_log!(
        SITE,
        "Minibatch stats: seconds-taken,frames-in:frames-out*minibatch-size=num-done(percent-full%)  {stats}"
    );
    kaldi_log!(SITE, "Did {tasks} tasks in {minibatches} minibatches, taking {} seconds.", num(seconds));
}
