//! `fgmm-global-to-gmm`: turns a mixture with full covariances into one with diagonal covariances.

use crate::background::mixture::convert;
use kaldi_gmm::FullGmm;

/// Convert single full-covariance GMM to single diagonal-covariance GMM. Weights, means and variances stay.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: fgmm-global-to-gmm 1.fgmm 1.gmm\nSee also: gmm-global-to-fgmm")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    fgmm_in: String,
    gmm_out: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let (from, to) = (&options.fgmm_in, &options.gmm_out);
    convert(from, to, options.mode.binary, "diagonal GMM", |gmm: FullGmm| gmm.to_diag())
}
