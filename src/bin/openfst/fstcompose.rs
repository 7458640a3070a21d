//! `fstcompose`: composes transducers.

use anyhow::{Result, bail};
use kaldi_fst::ops;
use nnet3::fsts::WithSymbols;

/// Composes two FSTs.
///
/// One of the two must be sorted: the first one on output labels, or the second one on input labels.
#[derive(clap::Parser)]
pub struct Options {
    /// Composition filter, one of: "auto", "sequence". Both mean "sequence".
    #[arg(long = "compose_filter", default_value = "auto")]
    compose_filter: String,
    /// Trim output?
    #[arg(long, default_value_t = true)]
    connect: bool,
    fst1_in: String,
    fst2_in: String,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    if !matches!(options.compose_filter.as_str(), "auto" | "sequence") {
        bail!("the composition filter must be auto or sequence, found {}", options.compose_filter);
    }
    let first = WithSymbols::read(Some(&options.fst1_in))?;
    let second = WithSymbols::read(Some(&options.fst2_in))?;
    let Some(fst) = ops::compose_transducers(&first.fst, &second.fst, options.connect) else {
        bail!("ComposeFst: 1st argument not output label sorted and 2nd argument not input label sorted");
    };
    let ([input, _], [_, output]) = (first.symbols, second.symbols);
    WithSymbols { fst, symbols: [input, output] }.write(options.fst_out.as_deref())?;
    Ok(0)
}
