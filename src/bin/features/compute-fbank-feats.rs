//! `compute-fbank-feats`: energies of mel filters of sound.

use crate::features::extraction::{self, FeatureOptions, WarpOptions};
use anyhow::Result;
use kaldi_cli::Group;
use nnet3::options::spectral::{FbankArgs, SpectralArgs};

/// Create Mel-filter bank (FBANK) feature files.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: compute-fbank-feats --config=conf/fbank.conf scp:wav.scp ark:feats.ark")]
pub struct Options {
    #[command(flatten)]
    fbank: Group<FbankArgs>,
    #[command(flatten)]
    warping: WarpOptions,
    #[command(flatten)]
    features: FeatureOptions,
}

pub fn run(options: Options) -> Result<u8> {
    let Options { fbank, warping, features } = options;
    extraction::compute(&features, &warping, fbank.options()?, fbank.frames.debug_mel)
}
