//! The programs of discriminative training: models, and log lines.

use std::sync::Arc;

use anyhow::{Context, Result};
use kaldi_cli::log::num;
use kaldi_cli::{kaldi_vlog, log::Site};
use nnet3::{messages, models, training_log};
use nnet3_core::nnet::Nnet;
use nnet3_discriminative::Criterion;
use nnet3_discriminative::objective::AcousticModel;
use nnet3_discriminative::sums::SharedSums;
use nnet3_train::trainer::{Event, Trained};

/// Reads the network of an acoustic model, and what the objective needs of the rest.
pub fn load(rxfilename: &str) -> Result<(Nnet, Arc<AcousticModel>)> {
    let model = models::load_acoustic(rxfilename)?;
    let log_priors = model.log_priors().with_context(|| rxfilename.to_owned())?;
    let transitions = model.transitions.clone();
    Ok((model.into_nnet(), Arc::new(AcousticModel { transitions, log_priors })))
}

/// Logs an event of the training.
pub fn event(event: &Event) {
    match event {
        Event::MaxChange(limits) => {
            if let Some((factor, limit)) = limits.global {
                messages::log(&format!(
                    "Parameter change too big: {} > --max-param-change={}, scaling by {}",
                    num(f64::from(limit) / factor),
                    num(limit.into()),
                    num(factor)
                ));
            }
        }
        Event::Memory { memory, .. } => kaldi_vlog!(1, Site::PROGRAM, "{memory}"),
        event => training_log::event(event),
    }
}

/// Logs the totals of training. Returns false if no output had any weight.
pub fn training_totals(trained: &Trained, criterion: Criterion, sums: &SharedSums) -> bool {
    let sums = sums.get();
    for total in &trained.totals {
        if let Some(sums) = sums.get(&total.output) {
            messages::log(&sums.count_line());
            sums.l2_line().iter().for_each(|line| messages::log(line));
        }
        messages::log(&total.to_string());
        messages::log(&format!(
            "[this line is to be parsed by a script:] {criterion}-per-frame={}",
            num(total.value.average())
        ));
    }
    trained.totals.iter().any(|total| total.value.weight != 0.0)
}

/// Logs the totals of an evaluation. Returns false if no output had any weight.
pub fn totals(criterion: Criterion, sums: &SharedSums) -> bool {
    let sums = sums.get();
    for (output, sums) in &sums {
        sums.lines(criterion).iter().for_each(|line| messages::log(line));
        messages::log(&sums.overall_line(criterion, output));
    }
    sums.values().any(|sums| sums.weight > 0.0)
}
