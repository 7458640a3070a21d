//! `nnet3-chain-get-egs`: features and supervision → chain examples.

use anyhow::{Context, Result, bail};
use kaldi_hmm::TransitionModel;
use kaldi_io::read_object;
use nnet3::chain_egs::{GetChainEgs, read_normalization};
use nnet3::options::egs::InputOptions;

/// Get frame-by-frame examples of data for nnet3+chain neural network training.
///
/// This involves breaking up utterances into pieces of a fixed size. Input will come from chain-get-supervision. If
/// <normalization-fst> is not given, the examples must go through nnet3-chain-normalize-egs before training.
#[derive(clap::Parser, Debug)]
#[command(
    override_usage = "nnet3-chain-get-egs [options] [<normalization-fst>] <features-rspecifier> <chain-supervision-rspecifier> \
    <egs-wspecifier>",
    after_help = "An example [where $feats expands to the actual features]:\n\
    chain-get-supervision [args] | nnet3-chain-get-egs --left-context=25 --right-context=9 --num-frames=150,100,90 \
    dir/normalization.fst \"$feats\" ark,s,cs:- ark:cegs.1.ark\n\
    Note: the --frame-subsampling-factor option must be the same as given to chain-get-supervision."
)]
pub struct Options {
    /// Seed for random number generator
    #[arg(long, default_value_t = 0)]
    srand: i32,
    /// Tolerance for difference in num-frames-subsampled between supervision and features (and weights of derivatives)
    #[arg(long, default_value_t = 1)]
    supervision_length_tolerance: i32,
    /// Table of weights by which derivatives of output frames are multiplied, one for each frame after subsampling
    #[arg(long, default_value = "")]
    deriv_weights_rspecifier: String,
    /// Scale the weights from the normalization FST before applying them to the examples (useful for semi-supervised
    /// training)
    #[arg(long, default_value_t = 1.0)]
    normalization_fst_scale: f32,
    /// Transition model: with it examples are unconstrained, that is, times within chunks are left open. The
    /// supervision must have been made with chain-get-supervision --convert-to-pdfs=false
    #[arg(long, default_value = "")]
    transition_model: String,
    /// Keys are utterance-first-left-frames-right-v1 instead of utterance-first
    #[arg(long, default_value_t = false)]
    long_key: bool,
    #[command(flatten)]
    input: InputOptions,
    #[arg(value_name = "[<normalization-fst>] <features> <supervision> <egs>", num_args = 3..=4, required = true)]
    files: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let (normalization, [features, supervision, egs]) = match &options.files[..] {
        [features, supervision, egs] => (None, [features, supervision, egs]),
        [fst, features, supervision, egs] => (Some(fst), [features, supervision, egs]),
        _ => bail!("expected three or four arguments"),
    };
    let scale = options.normalization_fst_scale;
    if scale <= 0.0 {
        bail!("--normalization-fst-scale={scale}: expected a number above 0");
    }
    let transitions: Option<TransitionModel> = match options.transition_model.as_str() {
        "" => None,
        file => Some(read_object(file).context("--transition-model")?),
    };
    GetChainEgs {
        input: &options.input,
        seed: options.srand,
        length_tolerance: options.supervision_length_tolerance,
        long_keys: options.long_key,
        normalization: normalization.map(|fst| read_normalization(fst, scale)).transpose()?,
        transitions: transitions.as_ref(),
        features,
        supervision,
        deriv_weights: &options.deriv_weights_rspecifier,
        egs,
    }
    .run()
}
