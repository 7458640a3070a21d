//! Copies a network, changing it on the way.

use kaldi_io::kaldi_log;
use kaldi_io::log::Site;
use nnet3_core::Random;
use nnet3_core::config::{parse_config, read_config};
use nnet3_core::nnet::Nnet;
use std::process::ExitCode;

/// Copy 'raw' nnet3 neural network to standard output, possibly changing it.
#[derive(clap::Parser)]
struct Options {
    /// Write output in binary mode
    #[arg(long, default_value_t = true)]
    binary: bool,
    /// If supplied, all the learning rates of updatable components are set to this value times their
    /// learning-rate-factor
    #[arg(long, default_value_t = -1.0)]
    learning_rate: f32,
    /// Name of nnet3 config file that can be used to add or replace components or nodes of the neural network (the same
    /// as you would give to nnet3-init)
    #[arg(long, default_value = "")]
    nnet_config: String,
    /// Name of edits-config file that can be used to modify the network
    #[arg(long, default_value = "")]
    edits_config: String,
    /// Edits as in --edits-config, several separated by ';'
    #[arg(long, default_value = "")]
    edits: String,
    /// The parameters and stored statistics are multiplied by this
    #[arg(long, default_value_t = 1.0)]
    scale: f32,
    /// Prepare the network for test: sets batch-norm and dropout components to test mode and merges components where
    /// that is possible
    #[arg(long, default_value_t = false)]
    prepare_for_test: bool,
    /// Sets the test mode of batch-norm components
    #[arg(long, default_value_t = false)]
    batchnorm_test_mode: bool,
    /// <raw-nnet-in>
    nnet_in: String,
    /// <raw-nnet-out>
    nnet_out: String,
}

const SITE: Site = Site::main("nnet3-copy.cc", 130);

fn copy(options: Options) -> anyhow::Result<u8> {
    let mut nnet = Nnet::load(&options.nnet_in)?;
    if !options.nnet_config.is_empty() {
        nnet.read_config(read_config(&options.nnet_config)?, &Random::new(0))?;
        nnet3::report::orphans(&nnet);
    }
    if options.learning_rate >= 0.0 {
        nnet.set_learning_rate(options.learning_rate);
    }
    nnet.scale(options.scale);
    if !options.edits_config.is_empty() {
        nnet3::report::edits(&nnet.edit(read_config(&options.edits_config)?)?);
    }
    if !options.edits.is_empty() {
        nnet3::report::edits(&nnet.edit(parse_config("--edits", options.edits.split(';'))?)?);
    }
    if options.prepare_for_test {
        nnet3::prepare::for_test(&mut nnet)?;
    } else {
        nnet.set_batchnorm_test_mode(options.batchnorm_test_mode);
    }
    nnet.save(&options.nnet_out, options.binary)?;
    kaldi_log!(SITE, "Copied raw neural net from {} to {}", options.nnet_in, options.nnet_out);
    Ok(0)
}

fn main() -> ExitCode {
    kaldi_io::cli::run(copy)
}
