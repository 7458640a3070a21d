//! `compute-mfcc-feats`: cepstra of sound.

use crate::features::extraction::{self, FeatureOptions};
use anyhow::Result;
use nnet3::options::spectral::MfccArgs;

/// Create MFCC feature files.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: compute-mfcc-feats --config=conf/mfcc.conf scp:wav.scp ark:feats.ark")]
pub struct Options {
    #[command(flatten)]
    mfcc: MfccArgs,
    #[command(flatten)]
    features: FeatureOptions,
}

pub fn run(options: Options) -> Result<u8> {
    extraction::compute(&options.features, options.mfcc.options()?, options.mfcc.frames.debug_mel)
}
