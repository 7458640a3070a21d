//! `compute-plp-feats`: makes PLP cepstra of sound.

use crate::features::extraction::{self, FeatureOptions, WarpOptions};
use anyhow::Result;
use kaldi_cli::Group;
use nnet3::options::spectral::{PlpArgs, SpectralArgs};

/// Create PLP feature files.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: compute-plp-feats --config=conf/plp.conf scp:wav.scp ark:feats.ark\n\
    See also: compute-mfcc-feats, compute-fbank-feats, compute-spectrogram-feats")]
pub struct Options {
    #[command(flatten)]
    plp: Group<PlpArgs>,
    #[command(flatten)]
    warping: WarpOptions,
    #[command(flatten)]
    features: FeatureOptions,
}

pub fn run(options: Options) -> Result<u8> {
    let Options { plp, warping, features } = options;
    extraction::compute(&features, &warping, plp.options()?, plp.frames.debug_mel)
}
