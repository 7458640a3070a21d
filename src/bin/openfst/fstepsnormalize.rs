//! `fstepsnormalize`: moves epsilons behind labels.

use anyhow::Result;
use kaldi_fst::ops;
use nnet3::fsts::WithSymbols;

/// More states are taken for a machine without such a form.
const MOST_STATES: usize = 10_000_000;

/// Epsilon normalizes an FST: on each path, arcs without input label come after those with one.
#[derive(clap::Parser)]
pub struct Options {
    /// Normalize output epsilons
    #[arg(long = "eps_norm_output", default_value_t = false)]
    eps_norm_output: bool,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut file = WithSymbols::read_tropical(options.fst_in.as_deref())?;
    if options.eps_norm_output {
        ops::invert(&mut file.fst);
    }
    file.fst = ops::normalize_epsilons(&file.fst, MOST_STATES)?;
    if options.eps_norm_output {
        ops::invert(&mut file.fst);
    }
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}
