//! `fstequal`: tells if two FSTs have the same states and arcs.

use anyhow::Result;
use kaldi_fst::ops;
use nnet3::fsts::{DIFFERENT, WithSymbols};

/// Compares two FSTs state by state: the numbers of states and the order of arcs count. The status is 0 if they are equal,
/// and 2 if not.
#[derive(clap::Parser)]
pub struct Options {
    /// Comparison/quantization delta
    #[arg(long = "delta", default_value_t = 1.0 / 1024.0)]
    delta: f32,
    fst_in1: String,
    fst_in2: String,
}

pub fn run(options: Options) -> Result<u8> {
    let [first, second] = WithSymbols::read_two(&options.fst_in1, &options.fst_in2)?;
    let same = ops::equal(&first.fst, &second.fst, options.delta);
    Ok(if same { 0 } else { DIFFERENT })
}
