//! `fsttopsort`: numbers states so that arcs lead to higher numbers.

use anyhow::Result;
use kaldi_cli::NOTHING_DONE;
use kaldi_fst::{Error, ops};
use nnet3::fsts::WithSymbols;
use nnet3::messages;

/// Topologically sorts an FST. If the FST has cycles, it is written without a change, and the exit status is 1.
#[derive(clap::Parser)]
pub struct Options {
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut file = WithSymbols::read(options.fst_in.as_deref())?;
    let status = match ops::topological_sort(&mut file.fst) {
        Ok(()) => 0,
        Err(Error::Cyclic { .. }) => {
            messages::warn("fsttopsort: Input FST is cyclic");
            NOTHING_DONE
        }
        Err(other) => return Err(other.into()),
    };
    file.write(options.fst_out.as_deref())?;
    Ok(status)
}
