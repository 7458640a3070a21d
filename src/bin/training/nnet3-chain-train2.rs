//! `nnet3-chain-train2`: training with lattice-free MMI on examples of several languages.

use anyhow::Result;
use kaldi_cli::log::Site;
use nnet3::chain::{self, ChainTrainArgs, Files, Languages};
use nnet3::training::Sites;

const SITES: Sites = Sites {
    main: Site::main("nnet3-chain-train2.cc", 101),
    read_cache: Site::new("NnetChainTrainer", "nnet-chain-training.cc", 56),
    write_cache: Site::new("~NnetChainTrainer", "nnet-chain-training.cc", 341),
};

/// Train nnet3 neural network parameters with LF-MMI and stochastic gradient descent, on examples of several languages.
///
/// The key of a minibatch names its language, '...?lang=NAME'; without a name, the language is 'default'. Its output is
/// called 'output-NAME', and its denominator FST is NAME.den.fst in the folder.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-chain-train2 1.raw den_fsts 'ark:nnet3-chain-merge-egs --multilingual-eg=true ark:1.cegs ark:- |' 2.raw"
)]
pub struct Options {
    #[command(flatten)]
    train: ChainTrainArgs,
    raw_model_in: String,
    denominator_fst_dir: String,
    chain_training_examples_in: String,
    raw_model_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let files = Files {
        model: &options.raw_model_in,
        denominator: &options.denominator_fst_dir,
        examples: &options.chain_training_examples_in,
        output: &options.raw_model_out,
    };
    chain::train(SITES, Languages::Several, options.train, files)
}
