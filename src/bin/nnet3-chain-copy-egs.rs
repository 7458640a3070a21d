//! `nnet3-chain-copy-egs`: copies chain examples, possibly shifting, trimming, weighting or renaming.

use std::process::ExitCode;

use anyhow::Result;
use kaldi_io::log::Site;
use nnet3::egs::{self, CopyStage, Sites};
use nnet3::options::egs_tables::CopyEgsOptions;
use nnet3_chain::NnetChainExample;
use nnet3_train::EgsReader;
use nnet3_train::copy::FrameChoice;

const SITES: Sites = Sites {
    main: Site::main("nnet3-chain-copy-egs.cc", 393),
    select: Site::new("ModifyChainExampleContext", "nnet3-chain-copy-egs.cc", 230),
};

/// Copy examples for chain training (LF-MMI), possibly changing the binary mode.
///
/// Supports multiple wspecifiers, in which case it will write the examples round-robin to the outputs.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.\n\
    nnet3-chain-copy-egs ark:train.cegs ark,t:text.cegs\n\
    or:\n\
    nnet3-chain-copy-egs --frame-shift=1 ark:train.cegs ark:1.cegs ark:2.cegs\n\
    See also: nnet3-chain-subset-egs, nnet3-chain-merge-egs, nnet3-chain-shuffle-egs")]
struct Options {
    #[command(flatten)]
    copying: CopyEgsOptions,
}

fn run(options: Options) -> Result<u8> {
    let copier = options.copying.copier(FrameChoice::All)?;
    let egs = EgsReader::<NnetChainExample>::open(&options.copying.egs_in)?;
    let mut stage = CopyStage::new(&options.copying, copier, SITES)?;
    egs::run(egs, &options.copying.egs_out, &mut stage, &SITES.main)
}

pub fn main() -> ExitCode {
    kaldi_io::cli::run(run)
}
