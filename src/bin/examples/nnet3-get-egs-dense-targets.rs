//! `nnet3-get-egs-dense-targets`: features and matrices of targets → examples.

use anyhow::Result;
use kaldi_cli::log::Site;
use kaldi_io::holder::MatrixHolder;
use nnet3::get_egs::GetEgs;
use nnet3::options::egs::EgsOptions;
use nnet3_train::chunk::DenseTargets;

/// Get frame-by-frame examples of data for nnet3 neural network training.
///
/// This program is similar to nnet3-get-egs, but the targets here are dense matrices instead of posteriors. This is
/// useful when you want the targets to be continuous real-valued with the neural network possibly trained with a
/// quadratic objective.
#[derive(clap::Parser, Debug)]
#[command(after_help = "An example [where $feats expands to the actual features]:\n\
    nnet3-get-egs-dense-targets --num-targets=26 --left-context=12 --right-context=9 --num-frames=8 \"$feats\" \
    \"ark:copy-matrix ark:exp/snrs/snr.1.ark ark:- |\" ark:-\n\
    See also: nnet3-get-egs")]
pub struct Options {
    /// Output dimension in egs; if not negative, targets must have it
    #[arg(long, default_value_t = -1)]
    num_targets: i32,
    #[command(flatten)]
    egs: EgsOptions,
    features_rspecifier: String,
    targets_rspecifier: String,
    egs_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let num_targets = usize::try_from(options.num_targets).ok();
    let get_egs = GetEgs {
        options: &options.egs,
        features_rspecifier: &options.features_rspecifier,
        targets_rspecifier: &options.targets_rspecifier,
        egs_wspecifier: &options.egs_out,
        targets_name: "target matrix",
        process: Site::new("ProcessFile", "nnet3-get-egs-dense-targets.cc", 52),
    };
    get_egs.run::<MatrixHolder>(|matrix| Box::new(DenseTargets { matrix, num_targets }))
}
