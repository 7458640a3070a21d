//! `nnet3-copy-egs`: copies examples, possibly selecting, trimming, weighting or renaming.

use std::process::ExitCode;

use anyhow::Result;
use kaldi_io::log::Site;
use nnet3::egs_copy::{self, Sites};
use nnet3::options::egs_tables::CopyEgsOptions;
use nnet3_train::NnetExample;

const SITES: Sites = Sites {
    main: Site::main("nnet3-copy-egs.cc", 385),
    select: Site::new("SelectFromExample", "nnet3-copy-egs.cc", 240),
};

/// Copy examples (single frames or fixed-size groups of frames) for neural network training, possibly changing the
/// binary mode.
///
/// Supports multiple wspecifiers, in which case it will write the examples round-robin to the outputs.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.\n\
    nnet3-copy-egs ark:train.egs ark,t:text.egs\n\
    or:\n\
    nnet3-copy-egs ark:train.egs ark:1.egs ark:2.egs\n\
    See also: nnet3-subset-egs, nnet3-get-egs, nnet3-merge-egs, nnet3-shuffle-egs")]
struct Options {
    /// Selects a single frame from each multi-frame example: a number 0, 1, etc., or 'random'.
    #[arg(long, default_value = "")]
    frame: String,
    #[command(flatten)]
    copying: CopyEgsOptions,
}

fn run(options: Options) -> Result<u8> {
    let copier = options.copying.copier(options.frame.parse()?)?;
    egs_copy::copy::<NnetExample>(&options.copying, copier, &SITES)
}

fn main() -> ExitCode {
    kaldi_io::cli::run(run)
}
