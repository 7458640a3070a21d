//! `gmm-decode-faster`: decodes features with a Gaussian model into words.

use anyhow::Result;

use crate::recognition::viterbi::{PruningArgs, ViterbiArgs};

/// Decode features using GMM-based model.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: gmm-decode-faster final.mdl HCLG.fst scp:feats.scp ark,t:words.txt ark:ali.ark\n\
    Note: lattices, if output, will just be linear sequences; use gmm-latgen-faster if you want \"real\" lattices."
)]
pub struct Options {
    #[command(flatten)]
    pruning: PruningArgs,
    #[command(flatten)]
    viterbi: ViterbiArgs,
}

pub fn run(options: Options) -> Result<u8> {
    options.viterbi.run(options.pruning.pruning()?)
}
