//! `fstminimizeencoded`: minimizes an FST without moving weights.

use anyhow::Result;
use kaldi_fst::ops::{self, DELTA};
use nnet3::fsts;

/// Minimizes FST after encoding [similar to fstminimize, but no weight-pushing].
#[derive(clap::Parser)]
pub struct Options {
    /// Delta likelihood used for quantization of weights
    #[arg(long, default_value_t = DELTA)]
    delta: f32,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    anyhow::ensure!(options.delta > 0.0, "--delta must be larger than 0, found {}", options.delta);
    fsts::convert(options.fst_in.as_deref(), options.fst_out.as_deref(), |fst| {
        ops::minimize_encoded(fst, options.delta);
        Ok(())
    })
}
