//! `gmm-decode-faster`: decodes features with a Gaussian model into words.

use anyhow::Result;
use nnet3_decode::decoder::Pruning;

use crate::recognition::viterbi::ViterbiArgs;

/// Decode features using GMM-based model.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: gmm-decode-faster final.mdl HCLG.fst scp:feats.scp ark,t:words.txt ark:ali.ark\n\
    Note: lattices, if output, will just be linear sequences; use gmm-latgen-faster if you want \"real\" lattices."
)]
pub struct Options {
    /// Decoding beam. Larger->slower, more accurate.
    #[arg(long, default_value_t = 16.0)]
    beam: f32,
    /// Decoder max active states. Larger->slower; more accurate
    #[arg(long, default_value_t = i32::MAX as usize)]
    max_active: usize,
    /// Decoder min active states (don't prune if #active less than this).
    #[arg(long, default_value_t = 20)]
    min_active: usize,
    /// Increment used in decoder [obscure setting]
    #[arg(long, default_value_t = 0.5)]
    beam_delta: f32,
    /// Setting used in decoder to control hash behavior
    #[arg(long, default_value_t = 2.0)]
    hash_ratio: f32,
    #[command(flatten)]
    viterbi: ViterbiArgs,
}

pub fn run(options: Options) -> Result<u8> {
    let Options { beam, max_active, min_active, beam_delta, hash_ratio, viterbi } = &options;
    viterbi.run(Pruning {
        beam: *beam,
        max_active: *max_active,
        min_active: *min_active,
        beam_delta: *beam_delta,
        hash_ratio: *hash_ratio,
    })
}
