//! `gmm-global-copy`: copies a mixture with diagonal covariances.

use crate::background::mixture::convert;
use kaldi_gmm::DiagGmm;

/// Copy a diagonal-covariance GMM
#[derive(clap::Parser)]
#[command(after_help = "e.g.: gmm-global-copy --binary=false 1.model - | less")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    model_in: String,
    model_out: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let (from, to) = (&options.model_in, &options.model_out);
    convert::<DiagGmm, DiagGmm>(from, to, options.mode.binary, "model", Ok)
}
