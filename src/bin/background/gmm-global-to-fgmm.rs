//! `gmm-global-to-fgmm`: turns a mixture with diagonal covariances into one with full covariances.

use crate::background::mixture::convert;
use kaldi_gmm::{DiagGmm, FullGmm};

/// Convert single diagonal-covariance GMM to single full-covariance GMM.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: gmm-global-to-fgmm 1.gmm 1.fgmm\nSee also: fgmm-global-to-gmm")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    gmm_in: String,
    fgmm_out: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let (from, to) = (&options.gmm_in, &options.fgmm_out);
    convert(from, to, options.mode.binary, "full GMM", |gmm: DiagGmm| FullGmm::from_diag(&gmm))
}
