//! `gmm-decode-simple`: decodes features with a Gaussian model into words; only the beam limits the search.

use anyhow::Result;
use nnet3_decode::decoder::Pruning;

use crate::recognition::viterbi::ViterbiArgs;

/// Decode features using GMM-based model. Viterbi decoding, with pruning by the beam only. No lattices; see
/// gmm-latgen-faster for them.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: gmm-decode-simple final.mdl HCLG.fst scp:feats.scp ark,t:words.txt ark:ali.ark"
)]
pub struct Options {
    /// Decoding log-likelihood beam
    #[arg(long, default_value_t = 16.0)]
    beam: f32,
    #[command(flatten)]
    viterbi: ViterbiArgs,
}

pub fn run(options: Options) -> Result<u8> {
    options.viterbi.run(Pruning { beam: options.beam, min_active: 0, ..Pruning::viterbi() })
}
