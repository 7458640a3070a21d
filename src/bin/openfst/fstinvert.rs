//! `fstinvert`: exchanges the inputs and outputs of an FST.

use anyhow::Result;
use kaldi_fst::ops;
use nnet3::fsts::WithSymbols;

/// Inverts a transduction.
#[derive(clap::Parser)]
pub struct Options {
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut file = WithSymbols::read(options.fst_in.as_deref())?;
    ops::invert(&mut file.fst);
    file.symbols.reverse();
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}
