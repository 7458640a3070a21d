//! `nnet3-compute-prob`: objective and accuracy of a network on examples.

use anyhow::Result;
use kaldi_cli::log::Site;
use nnet3::evaluation::{self, TestMode};
use nnet3::json::{self, FormatOption};
use nnet3::options::prob::ComputeProbOptions;
use nnet3::{egs, models, prepare, training_log};
use nnet3_core::nnet::collapse::CollapseOptions;
use nnet3_train::diagnostics::ProbComputer;
use nnet3_train::objective::{Costs, metrics};

const SITE: Site = Site::main("nnet3-compute-prob.cc", 90);

/// Computes and prints in logging messages the average log-prob per frame of the given data with an nnet3 neural net.
///
/// The input of this is the output of e.g. nnet3-get-egs | nnet3-merge-egs.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nnet3-compute-prob 0.raw ark:valid.egs")]
pub struct Options {
    #[command(flatten)]
    mode: TestMode,
    /// If true, collapse model to the extent possible before using it (for efficiency).
    #[arg(long, default_value_t = true)]
    collapse_model: bool,
    /// Metrics besides, separated by commas: accuracy, misclassification, logloss, precision, recall, top-K
    #[arg(long, default_value = "")]
    metrics: String,
    #[command(flatten)]
    format: FormatOption,
    #[command(flatten)]
    prob: ComputeProbOptions,
    raw_model_in: String,
    training_examples_in: String,
}

pub fn run(options: Options) -> Result<u8> {
    let metrics = metrics::parse(&options.metrics)?;
    let prob_options = options.prob.prob_options()?;
    let egs = egs::begin(&options.training_examples_in);
    let mut nnet = models::load(&options.raw_model_in)?;
    options.mode.apply(&mut nnet);
    if options.collapse_model {
        let both = options.mode.batchnorm_test_mode && options.mode.dropout_test_mode;
        let merged = if both { CollapseOptions::ALL } else { CollapseOptions::default() };
        prepare::collapse(&mut nnet, &merged)?;
    }
    let objective = options.prob.frame_objective().with_costs(Costs::default(), metrics);
    let computer = ProbComputer::with_objective(objective, nnet, prob_options, &nnet3_matrix::cpu());
    evaluation::run(&SITE, egs, computer, |computer| {
        let useful = training_log::frame_totals(computer);
        if options.format.is_json() {
            json::print(&json::frame_objectives(computer))?;
        }
        Ok(useful)
    })
}
