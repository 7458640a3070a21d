//! `fstclosure`: lets paths of an FST follow each other.

use anyhow::Result;
use kaldi_fst::ops;
use nnet3::fsts::WithSymbols;

/// Creates the Kleene closure of an FST: any number of paths, one after the other.
#[derive(clap::Parser)]
pub struct Options {
    /// Do not add the empty path (T+ instead of T*)
    #[arg(long = "closure_plus", default_value_t = false)]
    closure_plus: bool,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut file = WithSymbols::read(options.fst_in.as_deref())?;
    ops::closure(&mut file.fst, options.closure_plus);
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}
