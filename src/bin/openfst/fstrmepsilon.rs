//! `fstrmepsilon`: removes arcs with neither input nor output.

use anyhow::Result;
use kaldi_fst::ops;
use nnet3::fsts::WithSymbols;

/// Removes arcs with epsilons on both sides from an FST. Such arcs must not form cycles.
#[derive(clap::Parser)]
pub struct Options {
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut file = WithSymbols::read(options.fst_in.as_deref())?;
    ops::remove_epsilons(&mut file.fst)?;
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}
