//! `gmm-basis-fmllr-accs-gpost`: collects statistics for a basis of transforms from posteriors of Gaussians.

use anyhow::Result;

use crate::transforms::basis::accumulate;
use crate::transforms::speakers::{OfGaussians, Tables};

/// Accumulate gradient scatter from training set, either per utterance or for the supplied set of speakers (spk2utt option).
/// Reads posteriors of Gaussians. Writes to an accumulator
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.: gmm-basis-fmllr-accs-gpost --spk2utt=ark:spk2utt 1.mdl scp:feats.scp ark:1.gpost 1.accs\nSee also: gmm-basis-fmllr-training"
)]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// rspecifier for speaker to utterance-list map
    #[arg(long, default_value = "")]
    spk2utt: String,
    model_in: String,
    feature_rspecifier: String,
    gpost_rspecifier: String,
    accs_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let Options { spk2utt, feature_rspecifier: features, gpost_rspecifier: posteriors, .. } = &options;
    let tables = Tables { spk2utt, features, posteriors };
    accumulate::<OfGaussians>(&options.model_in, &tables, &options.accs_out, options.mode.binary)
}
