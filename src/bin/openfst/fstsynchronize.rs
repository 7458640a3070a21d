//! `fstsynchronize`: lets input and output labels come together.

use anyhow::{Context, Result};
use kaldi_fst::ops;
use nnet3::fsts::WithSymbols;

/// More states are taken for a machine whose labels drift apart.
const MOST_STATES: usize = 10_000_000;

/// Synchronizes a transducer: arcs with one label only come where the other side has ended.
#[derive(clap::Parser)]
pub struct Options {
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut file = WithSymbols::read(options.fst_in.as_deref())?;
    file.fst = ops::synchronize(&file.fst, MOST_STATES)
        .context("input and output of a cycle must have equally many labels")?;
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}
