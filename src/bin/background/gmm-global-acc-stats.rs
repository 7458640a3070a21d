//! `gmm-global-acc-stats`: collects statistics for training a mixture with diagonal covariances.

use crate::background::statistics::{StatisticsOptions, collect};
use kaldi_gmm::DiagGmm;

/// Accumulate stats for training a diagonal-covariance GMM.
///
/// The output is written even if no utterance could be used; then the status is 1.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: gmm-global-acc-stats 1.mdl scp:train.scp 1.acc\nSee also: gmm-global-est")]
pub struct Options {
    #[command(flatten)]
    statistics: StatisticsOptions,
    model_in: String,
    feature_rspecifier: String,
    stats_out: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let features = &options.feature_rspecifier;
    collect::<DiagGmm>(&options.statistics, &options.model_in, features, None, &options.stats_out)
}
