//! `nnet3-discriminative-compute-objf`: the objective of MMI, MPFE or sMBR on examples.

use anyhow::Result;
use kaldi_cli::log::{self, Site};
use nnet3::egs;
use nnet3::evaluation::{self, TestMode};
use nnet3::options::discriminative::DiscriminativeOptions;
use nnet3::options::prob::ComputeProbOptions;
use nnet3_discriminative::sums::SharedSums;
use nnet3_discriminative::training::{DiscriminativeTraining, DiscriminativeTrainingOptions};
use nnet3_train::diagnostics::ProbComputer;

use super::discriminative::{load, totals};

const SITE: Site = Site::main("nnet3-discriminative-compute-objf.cc", 107);

/// Computes and prints in logging messages the objective function per frame of the given data with an nnet3 neural net.
///
/// The input of this is the output of e.g. nnet3-discriminative-get-egs | nnet3-discriminative-merge-egs. There is no accuracy of
/// frames: --compute-accuracy and --compute-per-dim-accuracy have no effect.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nnet3-discriminative-compute-objf 0.mdl ark:valid.degs")]
pub struct Options {
    #[command(flatten)]
    mode: TestMode,
    #[command(flatten)]
    prob: ComputeProbOptions,
    #[command(flatten)]
    discriminative: DiscriminativeOptions,
    model_in: String,
    training_examples_in: String,
}

pub fn run(options: Options) -> Result<u8> {
    let prob_options = options.prob.prob_options()?;
    let training = DiscriminativeTrainingOptions {
        objective: options.discriminative.objective_options()?,
        apply_deriv_weights: false,
        verbose: log::verbose(),
    };
    let (criterion, sums) = (training.objective.criterion, SharedSums::default());
    let egs = egs::begin(&options.training_examples_in);
    let (mut nnet, model) = load(&options.model_in)?;
    options.mode.apply(&mut nnet);
    let objective = DiscriminativeTraining::new(training, model, sums.clone());
    let computer = ProbComputer::with_objective(objective, nnet, prob_options, &nnet3_matrix::cpu());
    evaluation::run(&SITE, egs, computer, |_| Ok(totals(criterion, &sums)))
}
