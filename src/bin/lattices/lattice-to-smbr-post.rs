//! `lattice-to-smbr-post`: derivatives of the sMBR criterion by transition-ids.

use anyhow::Result;
use nnet3_decode::accuracy::Criterion;

use super::accuracy::AccuracyOptions;

/// Do forward-backward and collect frame level posteriors for the sMBR criterion, from a lattice and an alignment.
///
/// A frame is right if the pdf-ids of lattice and alignment are the same. Posteriors may be negative: they are
/// derivatives of the expected number of right frames.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: lattice-to-smbr-post --acoustic-scale=0.1 --silence-phones=1:2:3 1.mdl ark:num.ali ark:1.lats ark:1.post"
)]
pub struct Options {
    #[command(flatten)]
    accuracy: AccuracyOptions,
}

pub fn run(options: Options) -> Result<u8> {
    options.accuracy.run(Criterion::Smbr)
}
