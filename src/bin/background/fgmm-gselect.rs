//! `fgmm-gselect`: lists the best Gaussians of each frame by a mixture with full covariances.

use crate::background::selecting::{self, SelectionOptions};
use kaldi_gmm::FullGmm;

/// Precompute Gaussian indices for pruning (e.g. in training UBMs, SGMMs, tied-mixture systems). For each frame, gives a list
/// of the n best Gaussian indices, sorted from best to worst. The --gselect option limits selection to a subset of indices.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.: fgmm-gselect \"--gselect=ark:gunzip -c bigger.gselect.gz|\" --n=20 1.gmm \"ark:feature-command |\" \
    \"ark,t:|gzip -c >gselect.1.gz\"\nSee also: gmm-global-get-post, fgmm-global-gselect-to-post, copy-gselect"
)]
pub struct Options {
    #[command(flatten)]
    selection: SelectionOptions,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    selecting::run::<FullGmm>(&options.selection)
}
