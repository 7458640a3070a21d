//! `compute-spectrogram-feats`: makes spectra of sound.

use crate::features::extraction::{self, FeatureOptions, WarpOptions};
use anyhow::Result;
use kaldi_cli::Group;
use nnet3::options::spectral::SpectrogramArgs;

/// Create spectrogram feature files: logarithms of power spectra, with the energy of the frame in the first column.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: compute-spectrogram-feats --config=conf/spectrogram.conf scp:wav.scp ark:feats.ark\n\
    See also: compute-mfcc-feats, compute-fbank-feats, compute-plp-feats"
)]
pub struct Options {
    #[command(flatten)]
    spectrogram: Group<SpectrogramArgs>,
    #[command(flatten)]
    features: FeatureOptions,
}

pub fn run(options: Options) -> Result<u8> {
    extraction::compute(&options.features, &WarpOptions::NONE, options.spectrogram.options()?, false)
}
