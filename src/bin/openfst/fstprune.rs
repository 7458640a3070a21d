//! `fstprune`: removes expensive paths from an FST.

use anyhow::Result;
use kaldi_fst::ops;
use nnet3::fsts::{self, WithSymbols};

/// Prunes states and arcs of an FST.
#[derive(clap::Parser)]
pub struct Options {
    /// Comparison/quantization delta. It has no effect: distances are exact
    #[arg(long = "delta", default_value_t = 1e-6)]
    delta: f32,
    /// State number threshold (-1: none)
    #[arg(long = "nstate", default_value_t = -1)]
    nstate: i64,
    /// Weight threshold: paths that cost more than the cheapest one and this are removed (empty: none)
    #[arg(long = "weight", default_value = "")]
    weight: String,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut file = WithSymbols::read_tropical(options.fst_in.as_deref())?;
    let (beam, most_states) = (fsts::threshold(&options.weight)?, usize::try_from(options.nstate).ok());
    ops::prune(&mut file.fst, beam, most_states)?;
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}
