//! `nnet3-chain-combine2`: the best mean of the last networks of a training on several languages.

use anyhow::Result;
use kaldi_cli::log::Site;
use nnet3::chain::{self, Languages};
use nnet3::options::chain::ChainTrainingOptions;
use nnet3::options::combine::CombineArgs;

const SITE: Site = Site::main("nnet3-chain-combine2.cc", 175);

/// Computes the average over the first n nnet3 models, for the n that maximizes the 'chain' objective function. The
/// objective is that of a subset of training or held-out chain examples of several languages.
///
/// Denominator FSTs and languages are as for nnet3-chain-train2. Models are given newest first. Inputs and outputs are 'raw'
/// nnets.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nnet3-chain-combine2 den_fsts 35.raw 36.raw 37.raw ark:combine.cegs final.raw")]
pub struct Options {
    #[command(flatten)]
    combining: CombineArgs,
    #[command(flatten)]
    chain: ChainTrainingOptions,
    denominator_fst_dir: String,
    /// Newest model
    nnet_in1: String,
    /// Further models, then the examples, then the file to write
    #[arg(value_name = "<nnet-in2> ... <nnet-inN> <chain-examples-in> <nnet-out>", required = true, num_args = 2..)]
    models_examples_and_output: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut arguments = vec![options.nnet_in1];
    arguments.extend(options.models_examples_and_output);
    let (combining, chain) = (&options.combining, &options.chain);
    chain::combine(SITE, Languages::Several, combining, chain, &options.denominator_fst_dir, arguments)
}
