//! `latgen-faster-mapped-parallel`: log-likelihoods of pdfs → lattices, several utterances at a time.

use crate::recognition::mapped::{self, MappedArgs, ThreadArgs};
use anyhow::Result;
use kaldi_cli::log::Site;

const SITE: Site = Site::main("latgen-faster-mapped-parallel.cc", 1);

/// Generate lattices, reading log-likelihoods as matrices, using multiple decoding threads (model is needed only for the integer
/// mappings in its transition-model).
///
/// The lattices are those of latgen-faster-mapped, in the order of the log-likelihoods.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: latgen-faster-mapped-parallel --num-threads=4 --acoustic-scale=0.1 final.mdl HCLG.fst ark:loglikes.ark \
    ark:lat.ark"
)]
pub struct Options {
    #[command(flatten)]
    mapped: MappedArgs,
    #[command(flatten)]
    threads: ThreadArgs,
}

pub fn run(options: Options) -> Result<u8> {
    mapped::decode(SITE, &options.mapped, Some(&options.threads), None)
}
