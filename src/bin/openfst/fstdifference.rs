//! `fstdifference`: the strings of one acceptor that another one does not accept.

use anyhow::{Context, Result, bail};
use kaldi_fst::ops;
use nnet3::fsts::WithSymbols;

/// Subtracts an acceptor from another one. The second one must be deterministic, and without costs and epsilons.
#[derive(clap::Parser)]
pub struct Options {
    /// Composition filter, one of: "auto", "sequence". They have no effect on the result
    #[arg(long = "compose_filter", default_value = "auto")]
    compose_filter: String,
    /// Trim output?
    #[arg(long, default_value_t = true)]
    connect: bool,
    fst_in1: String,
    fst_in2: String,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    if !matches!(options.compose_filter.as_str(), "auto" | "sequence") {
        bail!("the composition filter must be auto or sequence, found {}", options.compose_filter);
    }
    let [mut first, second] = WithSymbols::read_two(&options.fst_in1, &options.fst_in2)?;
    first.fst = ops::difference(&first.fst, &second.fst, options.connect)
        .with_context(|| format!("{} minus {}", options.fst_in1, options.fst_in2))?;
    first.write(options.fst_out.as_deref())?;
    Ok(0)
}
