//! `fgmm-global-gselect-to-post`: computes posteriors of listed Gaussians by a mixture with full covariances.

use crate::background::posteriors::{self, PosteriorOptions};
use kaldi_gmm::FullGmm;

/// Given features and Gaussian-selection (gselect) information for a full-covariance GMM, output per-frame posteriors for the
/// selected indices. Also supports pruning the posteriors if they are below a stated threshold (and renormalizing the rest to
/// sum to one).
#[derive(clap::Parser)]
#[command(after_help = "e.g.: fgmm-global-gselect-to-post 1.ubm ark:- 'ark:gunzip -c 1.gselect|' ark:-\n\
    See also: gmm-gselect, fgmm-gselect, gmm-global-get-post")]
pub struct Options {
    #[command(flatten)]
    posteriors: PosteriorOptions,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    posteriors::run::<FullGmm>(&options.posteriors)
}
