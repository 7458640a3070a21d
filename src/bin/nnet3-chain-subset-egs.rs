//! `nnet3-chain-subset-egs`: a random subset of chain examples.

use std::process::ExitCode;

use anyhow::Result;
use kaldi_io::log::Site;
use nnet3::egs_tables;
use nnet3::options::egs_tables::SubsetEgsOptions;
use nnet3_chain::NnetChainExample;

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
    egs_tables::subset::<NnetChainExample>(&options.selection, "nnet3+chain", &SITE)
}

fn main() -> ExitCode {
    kaldi_io::cli::run(run)
}
