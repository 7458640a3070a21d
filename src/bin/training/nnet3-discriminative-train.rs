//! `nnet3-discriminative-train`: one pass of training with MMI, MPFE or sMBR.

use std::sync::Arc;

use anyhow::Result;
use kaldi_cli::log::{self, Site};
use nnet3::options::discriminative::DiscriminativeOptions;
use nnet3::options::training::TrainArgs;
use nnet3::training::{Program, Sites};
use nnet3::training_log::TrainingLines;
use nnet3::{egs, messages};
use nnet3_discriminative::sums::SharedSums;
use nnet3_discriminative::training::{DiscriminativeTraining, DiscriminativeTrainingOptions};

use super::discriminative::{event, load, training_totals};

const SITES: Sites = Sites {
    main: Site::main("nnet3-discriminative-train.cc", 105),
    read_cache: Site::new("NnetDiscriminativeTrainer", "nnet-discriminative-training.cc", 52),
    write_cache: Site::new("~NnetDiscriminativeTrainer", "nnet-discriminative-training.cc", 266),
};

/// Train nnet3 neural network parameters with discriminative sequence objective gradient descent.
///
/// Minibatches are to be created by nnet3-discriminative-merge-egs in the input pipeline. With --xent-regularize the network
/// needs an output 'output-xent' beside 'output'. l2-regularize, max-change and orthonormal-constraint of components have no effect
/// here, as have --l2-regularize-factor, --batchnorm-stats-scale, --backstitch-training-scale and
/// --backstitch-training-interval.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-discriminative-train 1.mdl 'ark:nnet3-discriminative-merge-egs ark:1.degs ark:-|' 2.raw"
)]
pub struct Options {
    /// If true, apply the per-frame derivative weights stored with the example
    #[arg(long, default_value_t = true)]
    apply_deriv_weights: bool,
    /// If true, set test-mode to true on any DropoutComponents and DropoutMaskComponents.
    #[arg(long, default_value_t = true)]
    dropout_test_mode: bool,
    #[command(flatten)]
    train: TrainArgs,
    #[command(flatten)]
    discriminative: DiscriminativeOptions,
    model_in: String,
    discriminative_training_examples_in: String,
    raw_model_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let training = DiscriminativeTrainingOptions {
        objective: options.discriminative.objective_options()?,
        apply_deriv_weights: options.apply_deriv_weights,
        verbose: log::verbose(),
    };
    let (criterion, sums) = (training.objective.criterion, SharedSums::default());
    let program = Program {
        sites: SITES,
        args: plain_steps(options.train),
        examples: &options.discriminative_training_examples_in,
        output: &options.raw_model_out,
        prepare: egs::as_they_are,
        lines: TrainingLines {
            event,
            totals: Box::new(|trained| training_totals(trained, criterion, &sums)),
            written: "Wrote raw nnet model to",
        },
    };
    let all = sums.clone();
    program.run(|| {
        let (mut nnet, model) = load(&options.model_in)?;
        nnet.set_dropout_test_mode(options.dropout_test_mode);
        let make = move || DiscriminativeTraining::new(training.clone(), model.clone(), all.clone());
        Ok((nnet, Arc::new(make)))
    })
}

/// Options for steps with the limit on the whole change alone, as the reference makes them in discriminative training.
fn plain_steps(mut args: TrainArgs) -> TrainArgs {
    let training = &mut args.training;
    for (name, is_set) in [
        ("l2-regularize-factor", training.l2_regularize_factor != 1.0),
        ("batchnorm-stats-scale", training.batchnorm_stats_scale != 0.8),
        ("backstitch-training-scale", training.backstitch_training_scale != 0.0),
    ] {
        if is_set {
            messages::warn(&format!("--{name} has no effect on discriminative training"));
        }
    }
    training.l2_regularize_factor = 0.0;
    training.batchnorm_stats_scale = 1.0;
    training.backstitch_training_scale = 0.0;
    training.simple_steps = true;
    args
}
