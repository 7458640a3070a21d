//! `fstminimize`: makes a deterministic FST as small as possible.

use anyhow::{Result, bail};
use kaldi_fst::ops;
use nnet3::fsts::WithSymbols;

/// Minimizes a deterministic FST. Arcs without input label count as arcs with a label.
#[derive(clap::Parser)]
pub struct Options {
    /// Minimize non-deterministic FSTs too
    #[arg(long = "allow_nondet", default_value_t = false)]
    allow_nondet: bool,
    /// Comparison/quantization delta
    #[arg(long = "delta", default_value_t = 1e-6)]
    delta: f32,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    if options.delta <= 0.0 {
        bail!("--delta must be larger than 0, found {}", options.delta);
    }
    let mut file = WithSymbols::read(options.fst_in.as_deref())?;
    file.fst = ops::minimize_labels(file.fst, file.semiring, options.delta, options.allow_nondet)?;
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}
