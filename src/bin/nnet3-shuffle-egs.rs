//! `nnet3-shuffle-egs`: examples in random order.

use std::process::ExitCode;

use anyhow::Result;
use kaldi_io::log::Site;
use nnet3::egs_tables;
use nnet3::options::egs_tables::ShuffleEgsOptions;
use nnet3_train::NnetExample;

const SITE: Site = Site::main("nnet3-shuffle-egs.cc", 105);

/// Copy examples (typically single frames or small groups of frames) for neural network training, from the input to
/// output, but randomly shuffle the order.
///
/// This program will keep all of the examples in memory at once, unless you use the --buffer-size option.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nnet3-shuffle-egs --srand=1 ark:train.egs ark:shuffled.egs")]
struct Options {
    #[command(flatten)]
    shuffling: ShuffleEgsOptions,
}

fn run(options: Options) -> Result<u8> {
    egs_tables::shuffle::<NnetExample>(&options.shuffling, &SITE)
}

fn main() -> ExitCode {
    kaldi_io::cli::run(run)
}
