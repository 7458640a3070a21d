//! `nnet3-merge-egs`: examples → minibatches.

use std::process::ExitCode;

use anyhow::Result;
use kaldi_io::log::Site;
use nnet3::egs_tables::{self, Merging};
use nnet3::options::egs::MergeOptions;
use nnet3_train::NnetExample;

const SITE: Site = Site::main("nnet3-merge-egs.cc", 80);

/// This copies nnet training examples from input to output, but while doing so it merges many examples into one, forming
/// a minibatch consisting of a single example.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.\n\
    nnet3-merge-egs --minibatch-size=512 ark:1.egs ark:- | nnet3-train ... \n\
    See also nnet3-copy-egs")]
struct Options {
    /// Sizes of minibatches: numbers or ranges separated by commas, as in 64,128 or 1:64. Until the input ends the largest
    /// is used. Different sizes for examples of different sizes are written as in 128=64:128,256/256=32,64, where
    /// the numbers before = are numbers of input frames; the nearest rule applies
    #[arg(long, default_value = "256")]
    minibatch_size: String,
    #[command(flatten)]
    merging: MergeOptions,
    egs_in: String,
    egs_out: String,
}

fn run(options: Options) -> Result<u8> {
    let merger = options.merging.merger::<NnetExample>(&options.minibatch_size)?;
    let as_they_are =
        Merging { prepare: |_: &str, _: &mut NnetExample| Ok(()), suffix: |_: &NnetExample| String::new() };
    egs_tables::merge((&options.egs_in, &options.egs_out), merger, as_they_are, &SITE)
}

fn main() -> ExitCode {
    kaldi_io::cli::run(run)
}
