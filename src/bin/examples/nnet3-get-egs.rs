//! `nnet3-get-egs`: features and posteriors → examples.

use anyhow::{Result, bail};
use kaldi_cli::log::Site;
use kaldi_io::holder::PosteriorHolder;
use nnet3::get_egs::GetEgs;
use nnet3::options::egs::EgsOptions;
use nnet3_train::chunk::PosteriorTargets;

/// Get frame-by-frame examples of data for nnet3 neural network training.
///
/// Essentially this is a format change from features and posteriors into a special frame-by-frame format. This program
/// handles the common case where you have some input features, possibly some iVectors, and one set of labels.
#[derive(clap::Parser, Debug)]
#[command(after_help = "An example [where $feats expands to the actual features]:\n\
    nnet3-get-egs --num-pdfs=2658 --left-context=12 --right-context=9 --num-frames=8 \"$feats\" \
    \"ark:gunzip -c exp/nnet/ali.1.gz | ali-to-pdf exp/nnet/1.nnet ark:- ark:- | ali-to-post ark:- ark:- |\" ark:-\n\
    See also: nnet3-get-egs-dense-targets, nnet3-chain-get-egs, nnet3-get-egs-simple")]
pub struct Options {
    /// Number of pdfs in the acoustic model (required)
    #[arg(long, default_value_t = -1)]
    num_pdfs: i32,
    #[command(flatten)]
    egs: EgsOptions,
    features_rspecifier: String,
    pdf_post_rspecifier: String,
    egs_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let Some(num_pdfs) = usize::try_from(options.num_pdfs).ok().filter(|&n| n > 0) else {
        bail!("--num-pdfs is required and must be above 0, found {}", options.num_pdfs);
    };
    let get_egs = GetEgs {
        options: &options.egs,
        features_rspecifier: &options.features_rspecifier,
        targets_rspecifier: &options.pdf_post_rspecifier,
        egs_wspecifier: &options.egs_out,
        targets_name: "pdf-level posterior",
        process: Site::new("ProcessFile", "nnet3-get-egs.cc", 52),
    };
    get_egs.run::<PosteriorHolder>(|posterior| Box::new(PosteriorTargets { posterior, num_pdfs }))
}
