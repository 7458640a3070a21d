//! `fstreverse`: reads an FST from its end.

use anyhow::Result;
use kaldi_fst::ops;
use nnet3::fsts::WithSymbols;

/// Reverses an FST.
#[derive(clap::Parser)]
pub struct Options {
    /// Require superinitial state. Without it the only final state becomes the start, if there is only one
    #[arg(long = "require_superinitial", default_value_t = true)]
    require_superinitial: bool,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut file = WithSymbols::read(options.fst_in.as_deref())?;
    let without = if options.require_superinitial { None } else { ops::reverse_without_start(&file.fst) };
    file.fst = without.unwrap_or_else(|| ops::reverse(&file.fst));
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}
