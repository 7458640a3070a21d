//! `fstconnect`: removes states that no path uses.

use anyhow::Result;
use kaldi_fst::ops;
use nnet3::fsts::WithSymbols;

/// Removes states and arcs that are on no path from the initial to a final state.
#[derive(clap::Parser)]
pub struct Options {
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut file = WithSymbols::read(options.fst_in.as_deref())?;
    ops::connect(&mut file.fst);
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}
