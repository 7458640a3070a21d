//! `nnet3-chain-shuffle-egs`: chain examples in random order.

use std::process::ExitCode;

use anyhow::Result;
use kaldi_io::log::Site;
use nnet3::egs::{self, ShuffleStage};
use nnet3::options::egs_tables::ShuffleEgsOptions;
use nnet3_chain::NnetChainExample;
use nnet3_train::EgsReader;

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
    let ShuffleEgsOptions { egs_in, egs_out, .. } = &options.shuffling;
    let mut stage = ShuffleStage::new(&options.shuffling, SITE)?;
    egs::run(EgsReader::<NnetChainExample>::open(egs_in)?, std::slice::from_ref(egs_out), &mut stage, &SITE)
}

pub fn main() -> ExitCode {
    kaldi_io::cli::run(run)
}
