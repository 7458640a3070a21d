//! `fstconcat`: one FST after the other.

use anyhow::Result;
use kaldi_fst::ops;
use nnet3::fsts::WithSymbols;

/// Concatenates two FSTs. The result has the symbol tables of the first.
#[derive(clap::Parser)]
pub struct Options {
    fst_in1: String,
    fst_in2: String,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let [mut file, second] = WithSymbols::read_two(&options.fst_in1, &options.fst_in2)?;
    file.fst = ops::concatenate([&file.fst, &second.fst]);
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}
