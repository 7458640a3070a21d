//! `nnet3-chain-merge-egs`: chain examples → minibatches.

use std::process::ExitCode;

use anyhow::Result;
use kaldi_io::log::Site;
use nnet3::egs::{self, MergeStage, Merging};
use nnet3::options::egs::MergeOptions;
use nnet3_chain::{NnetChainExample, language};
use nnet3_train::EgsReader;

const SITE: Site = Site::main("nnet3-chain-merge-egs.cc", 60);

/// This copies chain training examples from input to output, merging many examples into one, which is a minibatch.
///
/// Examples are merged if their inputs and outputs have the same names, dimensions and times.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.\n\
    nnet3-chain-merge-egs --minibatch-size=128,64 ark:1.cegs ark:- | nnet3-chain-train ... \n\
    See also nnet3-chain-copy-egs")]
struct Options {
    /// Sizes of minibatches: numbers or ranges separated by commas, as in 64,128 or 1:64. Until the input ends the largest
    /// is used. Different sizes for examples of different sizes are written as in 128=64:128,256/256=32,64, where
    /// the numbers before = are numbers of input frames; the nearest rule applies
    #[arg(long, default_value = "64")]
    minibatch_size: String,
    #[command(flatten)]
    merging: MergeOptions,
    #[arg(value_name = "<egs-rspecifier>")]
    egs_in: String,
    #[arg(value_name = "<egs-wspecifier>")]
    egs_out: String,
}

fn run(options: Options) -> Result<u8> {
    let merger = options.merging.merger::<NnetChainExample>(&options.minibatch_size)?;
    let multilingual = options.merging.multilingual_eg;
    let merging = Merging {
        prepare: |key: &str, example: &mut NnetChainExample| {
            if multilingual { language::rename_output(key, example) } else { Ok(()) }
        },
        suffix: |minibatch: &NnetChainExample| {
            if multilingual { language::key_suffix(minibatch) } else { String::new() }
        },
    };
    let egs = EgsReader::open(&options.egs_in)?;
    egs::run(egs, &[options.egs_out], &mut MergeStage::new(merger, merging), &SITE)
}

pub fn main() -> ExitCode {
    kaldi_io::cli::run(run)
}
