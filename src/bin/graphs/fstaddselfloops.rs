//! `fstaddselfloops`: lets disambiguation symbols through an FST.

use anyhow::{Result, bail};
use kaldi_fst::ops;
use nnet3::fsts;

/// Adds self-loops to states of an FST to propagate disambiguation symbols through it.
///
/// They are added on each final state and each state with non-epsilon output symbols on at least one arc out of the state.
/// The two lists have integers, one per line, and are of the same length.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: fstaddselfloops in.list out.list < in.fst > withloops.fst")]
pub struct Options {
    in_disambig_list: String,
    out_disambig_list: String,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut fst = fsts::read(options.fst_in.as_deref())?;
    let inputs = fsts::read_disambiguation(&options.in_disambig_list)?;
    let outputs = fsts::read_disambiguation(&options.out_disambig_list)?;
    if inputs.len() != outputs.len() {
        bail!(
            "fstaddselfloops: mismatch in size of disambiguation symbols: {} has {}, {} has {}",
            options.in_disambig_list,
            inputs.len(),
            options.out_disambig_list,
            outputs.len()
        );
    }
    let pairs: Vec<_> = inputs.into_iter().zip(outputs).collect();
    ops::add_loops(&mut fst, &pairs);
    fsts::write(options.fst_out.as_deref(), &fst)?;
    Ok(0)
}
