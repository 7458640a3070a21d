//! `gmm-global-acc-stats-twofeats`: collects statistics of features, by posteriors of other features.

use crate::background::statistics::{StatisticsOptions, collect};
use kaldi_gmm::DiagGmm;

/// Accumulate stats for training a diagonal-covariance GMM, two-feature version. First features are used to get posteriors,
/// second to accumulate stats.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: gmm-global-acc-stats-twofeats 1.mdl scp:train.scp scp:train2.scp 1.acc\n\
    See also: gmm-global-acc-stats")]
pub struct Options {
    #[command(flatten)]
    statistics: StatisticsOptions,
    model_in: String,
    feature1_rspecifier: String,
    feature2_rspecifier: String,
    stats_out: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let (features, second) = (&options.feature1_rspecifier, Some(options.feature2_rspecifier.as_str()));
    collect::<DiagGmm>(&options.statistics, &options.model_in, features, second, &options.stats_out)
}
