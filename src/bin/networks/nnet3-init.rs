//! `nnet3-init`: makes a network from a config.

use kaldi_cli::kaldi_log;
use kaldi_cli::log::Site;
use nnet3_core::Random;
use nnet3_core::config::read_config;
use nnet3_core::nnet::Nnet;
/// Initialize an nnet3 neural network from a config file; outputs a 'raw' nnet without associated information such as a
/// transition model and priors.
///
/// Search for examples in scripts in /egs/wsj/s5/steps/nnet3/
#[derive(clap::Parser)]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Seed for random number generator
    #[arg(long, default_value_t = 0)]
    srand: i32,
    #[arg(value_name = "[<existing-model-in>] <config-in> <raw-nnet-out>", num_args = 2..=3, required = true)]
    files: Vec<String>,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let (inputs, output) = options.files.split_at(options.files.len() - 1);
    let (existing, config) = inputs.split_at(inputs.len() - 1);
    let mut nnet = match existing.first() {
        Some(model) => Nnet::load(model)?,
        None => Nnet::default(),
    };
    let (initialize, lines) =
        read_config(&config[0])?.into_iter().partition(|line| line.first_token == "initialize");
    let random = Random::new(options.srand);
    nnet.read_config(lines, &random)?;
    nnet3::report::orphans(&nnet);
    nnet3::report::edits(&nnet.edit_with(initialize, &random)?);
    nnet.save(&output[0], options.mode.binary)?;
    kaldi_log!(Site::main("nnet3-init.cc", 78), "Initialized raw neural net and wrote it to {}", output[0]);
    Ok(0)
}
