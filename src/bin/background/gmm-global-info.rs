//! `gmm-global-info`: prints the sizes of a mixture with diagonal covariances.

use crate::background::mixture::print_sizes;
use kaldi_gmm::DiagGmm;

/// Write to standard output various properties of a diagonal-covariance GMM. This is for a single mixture of Gaussians, e.g. as used for a UBM.
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n gmm-global-info 1.ubm\nSee also: gmm-info, am-info")]
pub struct Options {
    gmm: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    print_sizes::<DiagGmm>(&options.gmm)
}
