//! `nnet3-combine`: the best mean of the last networks of a training run.

use anyhow::Result;
use kaldi_cli::log::Site;
use nnet3::combination::Combination;
use nnet3::options::combine::CombineArgs;
use nnet3::{egs, training_log};
use nnet3_train::objective::{AccuracyOptions, FrameObjective};

const SITE: Site = Site::main("nnet3-combine.cc", 158);

/// Using a subset of training or held-out examples, compute the average over the first n nnet3 models where we maximize the
/// objective function for n.
///
/// Note that the order of models has been reversed before being fed into this binary. So we are actually combining last n
/// models. Inputs and outputs are 'raw' nnets.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nnet3-combine 1.1.raw 1.2.raw 1.3.raw ark:valid.egs 2.raw")]
pub struct Options {
    #[command(flatten)]
    combining: CombineArgs,
    /// Newest model
    nnet_in1: String,
    /// Further models, then the examples, then the file to write
    #[arg(value_name = "<nnet-in2> ... <nnet-inN> <valid-examples-in> <nnet-out>", required = true, num_args = 2..)]
    models_examples_and_output: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut arguments = vec![options.nnet_in1];
    arguments.extend(options.models_examples_and_output);
    let combination =
        Combination { site: SITE, options: &options.combining, arguments, prepare: egs::as_they_are };
    let recomputing =
        |_: &_| FrameObjective::with_accuracy(AccuracyOptions { accuracy: true, per_dim: false });
    combination.run(FrameObjective::default, recomputing, |computer| _ = training_log::frame_totals(computer))
}
