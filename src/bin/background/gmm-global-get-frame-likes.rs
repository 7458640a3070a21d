//! `gmm-global-get-frame-likes`: writes log-likelihoods of frames by a mixture with diagonal covariances.

use crate::background::likelihoods::{self, LikelihoodOptions};
use kaldi_gmm::DiagGmm;

/// Print out per-frame log-likelihoods for each utterance, as an archive of vectors of floats. If --average=true, prints out
/// the average per-frame log-likelihood for each utterance, as a single float.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: gmm-global-get-frame-likes 1.mdl scp:train.scp ark:1.likes")]
pub struct Options {
    #[command(flatten)]
    likelihoods: LikelihoodOptions,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    likelihoods::run::<DiagGmm>(&options.likelihoods)
}
