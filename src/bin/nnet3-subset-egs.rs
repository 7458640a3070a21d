//! `nnet3-subset-egs`: a random subset of examples.

use std::process::ExitCode;

use anyhow::Result;
use kaldi_io::log::Site;
use nnet3::egs_tables;
use nnet3::options::egs_tables::SubsetEgsOptions;
use nnet3_train::NnetExample;

const SITE: Site = Site::main("nnet3-subset-egs.cc", 94);

/// Creates a random subset of the input examples, of a specified size.
///
/// Uses no more memory than the size of the subset.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nnet3-subset-egs [args] ark:degs.1.arks ark:subset.egs")]
struct Options {
    #[command(flatten)]
    selection: SubsetEgsOptions,
}

fn run(options: Options) -> Result<u8> {
    egs_tables::subset::<NnetExample>(&options.selection, "neural-network", &SITE)
}

fn main() -> ExitCode {
    kaldi_io::cli::run(run)
}
