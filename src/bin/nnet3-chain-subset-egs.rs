//! `nnet3-chain-subset-egs`: a random subset of chain examples.

use std::process::ExitCode;

use anyhow::Result;
use kaldi_io::log::Site;
use nnet3::egs::{self, SubsetStage};
use nnet3::options::egs_tables::SubsetEgsOptions;
use nnet3_chain::NnetChainExample;
use nnet3_train::EgsReader;

const SITE: Site = Site::main("nnet3-chain-subset-egs.cc", 92);

/// Creates a random subset of the input chain examples, of a specified size.
///
/// Uses no more memory than the size of the subset.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nnet3-chain-subset-egs --n=300 ark:all.cegs ark:subset.cegs")]
struct Options {
    #[command(flatten)]
    selection: SubsetEgsOptions,
}

fn run(options: Options) -> Result<u8> {
    let SubsetEgsOptions { egs_in, egs_out, .. } = &options.selection;
    let mut stage = SubsetStage::new(&options.selection, "nnet3+chain", SITE)?;
    egs::run(EgsReader::<NnetChainExample>::open(egs_in)?, std::slice::from_ref(egs_out), &mut stage, &SITE)
}

pub fn main() -> ExitCode {
    kaldi_io::cli::run(run)
}
