//! `compute-mfcc-feats`: cepstra of sound.

use crate::features::extraction::{self, FeatureOptions, WarpOptions};
use anyhow::Result;
use kaldi_cli::Group;
use nnet3::options::spectral::{MfccArgs, SpectralArgs};

/// Create MFCC feature files.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: compute-mfcc-feats --config=conf/mfcc.conf scp:wav.scp ark:feats.ark")]
pub struct Options {
    #[command(flatten)]
    mfcc: Group<MfccArgs>,
    #[command(flatten)]
    warping: WarpOptions,
    #[command(flatten)]
    features: FeatureOptions,
}

pub fn run(options: Options) -> Result<u8> {
    let Options { mfcc, warping, features } = options;
    extraction::compute(&features, &warping, mfcc.options()?, mfcc.frames.debug_mel)
}
