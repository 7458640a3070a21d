//! `fstarcsort`: sorts the arcs of an FST.

use anyhow::{Result, bail};
use kaldi_fst::ops::{self, Side};
use nnet3::fsts::WithSymbols;

/// Sorts arcs of an FST.
#[derive(clap::Parser)]
pub struct Options {
    /// Comparison method, one of: "ilabel", "olabel"
    #[arg(long = "sort_type", default_value = "ilabel")]
    sort_type: String,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let side = match options.sort_type.as_str() {
        "ilabel" => Side::Input,
        "olabel" => Side::Output,
        other => bail!("Unknown or unsupported sort type: {other}; expected ilabel or olabel"),
    };
    let mut file = WithSymbols::read(options.fst_in.as_deref())?;
    ops::sort_arcs(&mut file.fst, side);
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}
