//! `nnet3-chain-e2e-get-egs`: features and training graphs → examples for end-to-end chain training.

use anyhow::{Result, bail};
use kaldi_hmm::TransitionModel;
use kaldi_io::read_object;
use nnet3::chain_egs::{GetEndToEndEgs, read_normalization};
use nnet3::options::egs::InputOptions;

/// Get examples of whole utterances for nnet3+chain end-to-end neural network training.
///
/// The training graphs come from compile-train-graphs. The length of each utterance must differ by at most 4 frames
/// from one of the lengths of --num-frames. If <normalization-fst> is not given, the examples must go through
/// nnet3-chain-normalize-egs before training.
#[derive(clap::Parser, Debug)]
#[command(
    override_usage = "nnet3-chain-e2e-get-egs [options] [<normalization-fst>] <features-rspecifier> <fst-rspecifier> \
    <transition-model> <egs-wspecifier>",
    after_help = "See also: compile-train-graphs, chain-make-num-fst-e2e, nnet3-chain-get-egs"
)]
pub struct Options {
    /// Seed for random number generator
    #[arg(long, default_value_t = 0)]
    srand: i32,
    #[command(flatten)]
    input: InputOptions,
    #[arg(
        value_name = "[<normalization-fst>] <features> <fsts> <transition-model> <egs>",
        num_args = 4..=5,
        required = true
    )]
    files: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let (normalization, [features, graphs, model, egs]) = match &options.files[..] {
        [features, graphs, model, egs] => (None, [features, graphs, model, egs]),
        [fst, features, graphs, model, egs] => (Some(fst), [features, graphs, model, egs]),
        _ => bail!("expected four or five arguments"),
    };
    let normalization = normalization.map(|fst| read_normalization(fst, 1.0)).transpose()?;
    let transitions: TransitionModel = read_object(model)?;
    GetEndToEndEgs {
        input: &options.input,
        seed: options.srand,
        transitions: &transitions,
        features,
        graphs,
        egs,
    }
    .run(normalization)
}
