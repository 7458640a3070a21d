//! `nnet3-chain-shuffle-egs`: chain examples in random order.

use std::process::ExitCode;

use anyhow::Result;
use kaldi_io::log::Site;
use nnet3::egs_tables;
use nnet3::options::egs_tables::ShuffleEgsOptions;
use nnet3_chain::NnetChainExample;

const SITE: Site = Site::main("nnet3-chain-shuffle-egs.cc", 106);

/// Copy chain examples (LF-MMI) from the input to output, but randomly shuffle the order.
///
/// This program will keep all of the examples in memory at once, unless you use the --buffer-size option.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nnet3-chain-shuffle-egs --srand=1 ark:train.cegs ark:shuffled.cegs")]
struct Options {
    #[command(flatten)]
    shuffling: ShuffleEgsOptions,
}

fn run(options: Options) -> Result<u8> {
    egs_tables::shuffle::<NnetChainExample>(&options.shuffling, &SITE)
}

fn main() -> ExitCode {
    kaldi_io::cli::run(run)
}
