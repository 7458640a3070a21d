//! `fstrmepsilon`: removes arcs with neither input nor output.

use std::process::ExitCode;

use anyhow::Result;
use kaldi_fst::ops;
use nnet3::fsts::{WithSymbols, run_as_openfst};

/// Removes arcs with epsilons on both sides from an FST. Such arcs must not form cycles.
#[derive(clap::Parser)]
struct Options {
    fst_in: Option<String>,
    fst_out: Option<String>,
}

fn run(options: Options) -> Result<u8> {
    let mut file = WithSymbols::read(options.fst_in.as_deref())?;
    ops::remove_epsilons(&mut file.fst)?;
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}

pub fn main() -> ExitCode {
    run_as_openfst(run)
}
