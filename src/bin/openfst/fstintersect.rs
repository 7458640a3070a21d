//! `fstintersect`: the strings that two acceptors have in common.

use anyhow::{Result, bail};
use kaldi_fst::ops;
use nnet3::fsts::WithSymbols;

/// Intersects two acceptors. Costs of both are added. The first must be sorted by output labels, or the second one by input
/// labels.
#[derive(clap::Parser)]
pub struct Options {
    /// Composition filter, one of: "auto", "sequence". Both mean "sequence".
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
    first.fst.check_acceptor()?;
    second.fst.check_acceptor()?;
    let Some(fst) = ops::compose_transducers(&first.fst, &second.fst, options.connect) else {
        bail!("1st argument not output label sorted and 2nd argument not input label sorted");
    };
    first.fst = fst;
    first.write(options.fst_out.as_deref())?;
    Ok(0)
}
