//! `fgmm-global-info`: prints the sizes of a mixture with full covariances.

use crate::background::mixture::print_sizes;
use kaldi_gmm::FullGmm;

/// Write to standard output various properties of a full-covariance GMM. This is for a single mixture of Gaussians, e.g. as used for a UBM.
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n fgmm-global-info 1.ubm\nSee also: gmm-info, am-info")]
pub struct Options {
    gmm: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    print_sizes::<FullGmm>(&options.gmm)
}
