//! `latgen-incremental-mapped`: log-likelihoods of pdfs → lattices, determinized in chunks during the search.

use crate::recognition::mapped::{self, MappedArgs};
use anyhow::Result;
use kaldi_cli::Group;
use kaldi_cli::log::Site;
use nnet3_online::config::incremental::IncrementalArgs;

const SITE: Site = Site::main("latgen-incremental-mapped.cc", 1);

/// Generate lattices, reading log-likelihoods as matrices (model is needed only for the integer mappings in its
/// transition-model).
///
/// Lattices are determinized in chunks while the search goes on.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: latgen-incremental-mapped --acoustic-scale=0.1 final.mdl HCLG.fst ark:loglikes.ark ark:lat.ark\n\
    See also: latgen-faster-mapped"
)]
pub struct Options {
    #[command(flatten)]
    mapped: MappedArgs,
    #[command(flatten)]
    incremental: Group<IncrementalArgs>,
}

pub fn run(options: Options) -> Result<u8> {
    mapped::decode(SITE, &options.mapped, None, Some(options.incremental.options()?))
}
