//! `fgmm-global-sum-accs`: adds up statistics for training a mixture with full covariances.

use crate::background::statistics::sum;
use kaldi_gmm::stats::Full;

/// Sum multiple accumulated stats files for full-covariance GMM training. The output comes first.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: fgmm-global-sum-accs sum.acc 1.acc 2.acc")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    stats_out: String,
    #[arg(value_name = "<stats-in1> <stats-in2> ...", num_args = 1.., required = true)]
    stats_in: Vec<String>,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    sum::<Full>(&options.stats_in, options.mode.binary, &options.stats_out)
}
