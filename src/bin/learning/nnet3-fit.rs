//! `nnet3-fit`: whole trainings in one process, by optimisers chosen by the names of layers.

use crate::learning::fit::Fit;
use crate::learning::options::{CallbackOptions, RulesOptions};
use anyhow::Result;
use nnet3::models;
use nnet3::options::device;
use nnet3::options::training::{ReplicaOptions, TrainingOptions};

/// Train an nnet3 neural network for some epochs: sgd, Adam and other optimizers by names of components, schedules,
/// evaluations, checkpoints.
///
/// The input is unmerged examples. In epoch e, counted from 0, they are shuffled with the seed srand+e. '{epoch}' in
/// the name of the table is replaced by e. With the optimizer kaldi alone, an epoch gives the same result as a call of
/// nnet3-train with --srand=srand+e.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-fit --num-epochs=10 --optimizer='adamw learning-rate=.002' --schedule='cosine warm-up=.05' \
                  0.raw ark:train.egs final.raw"
)]
pub struct Options {
    /// Number of passes through the examples
    #[arg(long, default_value_t = 10)]
    num_epochs: u64,
    /// Examples of a minibatch, in the form of --minibatch-size of nnet3-merge-egs. With a single number, the last
    /// minibatch may be smaller
    #[arg(long, default_value = "128")]
    minibatch_size: String,
    /// Shuffle the examples
    #[arg(long, default_value_t = true)]
    shuffle: bool,
    /// Megabytes of examples to keep in memory; if there are more, they are read in each epoch and shuffled through a buffer
    #[arg(long, default_value_t = 1000)]
    in_memory: u64,
    /// Seed for random number generator
    #[arg(long, default_value_t = 0)]
    srand: i32,
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Print the optimizer, the rate and the size of the state of each part, without training
    #[arg(long)]
    dry_run: bool,
    /// yes|no|optional|wait: whether to run on a GPU (optional: if there is one)
    #[arg(long, default_value = "optional", value_parser = device::USE_GPU)]
    use_gpu: String,
    #[command(flatten)]
    device: device::DeviceOptions,
    #[command(flatten)]
    replicas: ReplicaOptions,
    #[command(flatten)]
    rules: RulesOptions,
    #[command(flatten)]
    callbacks: CallbackOptions,
    #[command(flatten)]
    training: TrainingOptions,
    raw_model_in: String,
    training_examples_in: String,
    raw_model_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let devices = options.device.select_for_training(&options.use_gpu, options.replicas.count()?)?;
    let nnet = models::load(&options.raw_model_in)?;
    let fit = Fit {
        rules: options.rules,
        callbacks: options.callbacks,
        training: options.training,
        replicas: options.replicas,
        num_epochs: options.num_epochs,
        minibatch_size: options.minibatch_size,
        shuffle: options.shuffle,
        in_memory: options.in_memory,
        srand: options.srand,
        binary: options.mode.binary,
        dry_run: options.dry_run,
        egs: options.training_examples_in,
        output: options.raw_model_out,
    };
    fit.run(nnet, &devices)
}
