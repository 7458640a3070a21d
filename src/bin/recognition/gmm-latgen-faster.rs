//! `gmm-latgen-faster`: decodes features with a Gaussian model into lattices.

use std::time::Instant;

use anyhow::Result;
use kaldi_cli::log::Site;

use crate::recognition::decoding::LatticeOptions;
use crate::recognition::gaussians::{self, Acoustics, GaussianTables};

const SITE: Site = Site::main("gmm-latgen-faster.cc", 176);

/// Generate lattices using GMM-based model.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: gmm-latgen-faster --acoustic-scale=0.083333 final.mdl HCLG.fst scp:feats.scp ark:lat.ark\n\
    See also: gmm-latgen-faster-parallel, nnet3-latgen-faster"
)]
pub struct Options {
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 0.1)]
    acoustic_scale: f32,
    #[command(flatten)]
    lattice: LatticeOptions,
    #[command(flatten)]
    tables: GaussianTables,
}

pub fn run(options: Options) -> Result<u8> {
    let start = Instant::now();
    let acoustics = Acoustics::read(&options.tables.model_in, options.acoustic_scale)?;
    gaussians::decode(SITE, &options.lattice, &acoustics, &options.tables, start)
}
