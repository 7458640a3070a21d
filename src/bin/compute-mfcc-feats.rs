//! `compute-mfcc-feats`: cepstra of sound.

use std::process::ExitCode;

use anyhow::Result;
use nnet3::features::{self, FeatureOptions};
use nnet3::options::spectral::MfccArgs;

/// Create MFCC feature files.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: compute-mfcc-feats --config=conf/mfcc.conf scp:wav.scp ark:feats.ark")]
struct Options {
    #[command(flatten)]
    mfcc: MfccArgs,
    #[command(flatten)]
    features: FeatureOptions,
}

fn run(options: Options) -> Result<u8> {
    features::compute(&options.features, options.mfcc.options()?, options.mfcc.frames.debug_mel)
}

pub fn main() -> ExitCode {
    kaldi_io::cli::run(run)
}
