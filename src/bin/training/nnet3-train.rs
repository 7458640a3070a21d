//! `nnet3-train`: one pass of stochastic gradient descent over minibatches.

use std::sync::Arc;

use anyhow::Result;
use kaldi_cli::log::Site;
use nnet3::options::training::TrainArgs;
use nnet3::training::{Program, Sites};
use nnet3::training_log::TrainingLines;
use nnet3::{egs, models};
use nnet3_train::objective::FrameObjective;

const SITES: Sites = Sites {
    main: Site::main("nnet3-train.cc", 91),
    read_cache: Site::new("NnetTrainer", "nnet-training.cc", 52),
    write_cache: Site::new("~NnetTrainer", "nnet-training.cc", 332),
};

/// Train nnet3 neural network parameters with backprop and stochastic gradient descent.
///
/// Minibatches are to be created by nnet3-merge-egs in the input pipeline. The statistics of this pass (activations,
/// batch normalization) are written with the model.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nnet3-train 1.raw 'ark:nnet3-merge-egs ark:1.egs ark:-|' 2.raw")]
pub struct Options {
    #[command(flatten)]
    train: TrainArgs,
    raw_model_in: String,
    training_examples_in: String,
    raw_model_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let program = Program {
        sites: SITES,
        args: options.train,
        examples: &options.training_examples_in,
        output: &options.raw_model_out,
        prepare: egs::as_they_are,
        lines: TrainingLines::default(),
    };
    program.run(|| Ok((models::load(&options.raw_model_in)?, Arc::new(FrameObjective::default))))
}
