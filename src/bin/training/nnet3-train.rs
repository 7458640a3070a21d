//! `nnet3-train`: one pass of stochastic gradient descent over minibatches.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use kaldi_io::log::Site;
use nnet3::options::device;
use nnet3::options::training::{AllocatorOptions, ReplicaOptions, TrainingOptions};
use nnet3::training::{Output, Sites, Training};
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
    /// Seed for random number generator
    #[arg(long, default_value_t = 0)]
    srand: i32,
    /// Write output in binary mode
    #[arg(long, default_value_t = true)]
    binary: bool,
    /// yes|no|optional|wait: whether to run on a GPU (optional: if there is one)
    #[arg(long, default_value = "optional", value_parser = device::USE_GPU)]
    use_gpu: String,
    #[command(flatten)]
    device: device::DeviceOptions,
    #[command(flatten)]
    replicas: ReplicaOptions,
    #[command(flatten)]
    training: TrainingOptions,
    #[command(flatten)]
    allocator: AllocatorOptions,
    raw_model_in: String,
    training_examples_in: String,
    raw_model_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let began = Instant::now();
    options.allocator.check()?;
    let count = options.replicas.count()?;
    options.training.trainer_options(count)?;
    let devices = options.device.select_for_training(&options.use_gpu, count)?;
    let egs = egs::begin(&options.training_examples_in);
    let nnet = models::load(&options.raw_model_in)?;
    let training = Training {
        sites: SITES,
        options: options.training,
        seed: options.srand,
        devices,
        average_period: options.replicas.average_period,
        objective: Arc::new(FrameObjective::default),
        prepare: egs::as_they_are,
    };
    let output = Output { wxfilename: &options.raw_model_out, binary: options.binary };
    training.run(nnet, || egs.finish(), output, began)
}
