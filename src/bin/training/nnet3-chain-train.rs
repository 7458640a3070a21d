//! `nnet3-chain-train`: one pass of training with lattice-free MMI.

use anyhow::Result;
use kaldi_cli::log::Site;
use nnet3::chain::{self, ChainTrainArgs, Files, Languages};
use nnet3::training::Sites;

const SITES: Sites = Sites {
    main: Site::main("nnet3-chain-train.cc", 101),
    read_cache: Site::new("NnetChainTrainer", "nnet-chain-training.cc", 56),
    write_cache: Site::new("~NnetChainTrainer", "nnet-chain-training.cc", 341),
};

/// Train nnet3 neural network parameters with LF-MMI and stochastic gradient descent.
///
/// nnet3-chain-merge-egs in the input pipeline makes minibatches. With --xent-regularize, the network needs an output
/// 'output-xent' beside 'output'.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-chain-train 1.raw den.fst 'ark:nnet3-chain-merge-egs ark:1.cegs ark:- |' 2.raw"
)]
pub struct Options {
    #[command(flatten)]
    train: ChainTrainArgs,
    raw_model_in: String,
    denominator_fst: String,
    chain_training_examples_in: String,
    raw_model_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let files = Files {
        model: &options.raw_model_in,
        denominator: &options.denominator_fst,
        examples: &options.chain_training_examples_in,
        output: &options.raw_model_out,
    };
    chain::train(SITES, Languages::One, options.train, files)
}
