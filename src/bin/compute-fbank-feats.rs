//! `compute-fbank-feats`: energies of mel filters of sound.

use std::process::ExitCode;

use anyhow::Result;
use nnet3::features::{self, FeatureOptions};
use nnet3::options::spectral::FbankArgs;

/// Create Mel-filter bank (FBANK) feature files.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: compute-fbank-feats --config=conf/fbank.conf scp:wav.scp ark:feats.ark")]
struct Options {
    #[command(flatten)]
    fbank: FbankArgs,
    #[command(flatten)]
    features: FeatureOptions,
}

fn run(options: Options) -> Result<u8> {
    features::compute(&options.features, options.fbank.options()?, options.fbank.frames.debug_mel)
}

pub fn main() -> ExitCode {
    kaldi_io::cli::run(run)
}
