//! `gmm-est-fmllr-gpost`: estimates transforms of speakers' features from posteriors of Gaussians.

use anyhow::Result;

use crate::transforms::speakers::{FmllrArgs, OfGaussians, Tables};

/// Estimate global fMLLR transforms, either per utterance or for the supplied set of speakers (spk2utt option). Writes to a
/// table of matrices.
///
/// Inputs are posteriors of Gaussians, which may come from another model with the same Gaussians.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.: gmm-est-fmllr-gpost --spk2utt=ark:spk2utt 1.mdl scp:feats.scp ark:1.gpost ark:fmllr.trans"
)]
pub struct Options {
    /// rspecifier for speaker to utterance-list map
    #[arg(long, default_value = "")]
    spk2utt: String,
    #[command(flatten)]
    fmllr: FmllrArgs,
    model_in: String,
    feature_rspecifier: String,
    gpost_rspecifier: String,
    transform_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let Options { spk2utt, feature_rspecifier: features, gpost_rspecifier: posteriors, .. } = &options;
    let tables = Tables { spk2utt, features, posteriors };
    options.fmllr.run::<OfGaussians>(&options.model_in, &tables, &options.transform_wspecifier)
}
