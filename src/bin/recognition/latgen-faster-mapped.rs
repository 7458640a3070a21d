//! `latgen-faster-mapped`: log-likelihoods of pdfs → lattices.

use crate::recognition::mapped::{self, MappedArgs};
use anyhow::Result;
use kaldi_cli::log::Site;

const SITE: Site = Site::main("latgen-faster-mapped.cc", 1);

/// Generate lattices, reading log-likelihoods as matrices (model is needed only for the integer mappings in its
/// transition-model).
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: latgen-faster-mapped --acoustic-scale=0.1 final.mdl HCLG.fst ark:loglikes.ark ark:lat.ark"
)]
pub struct Options {
    #[command(flatten)]
    mapped: MappedArgs,
}

pub fn run(options: Options) -> Result<u8> {
    mapped::decode(SITE, &options.mapped, None, None)
}
