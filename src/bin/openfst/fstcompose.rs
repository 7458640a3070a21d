//! `fstcompose`: composes transducers.

use anyhow::{Result, bail};
use kaldi_fst::ops;
use kaldi_fst::store::{self, PlainOrLookAhead};
use kaldi_io::KaldiReader;
use nnet3::fsts::WithSymbols;

/// Composes two FSTs.
///
/// One of the two must be sorted: the first one on output labels, or the second one on input labels. If the first one is of type
/// olabel_lookahead, the second one must be, and the composition makes only states from which a path goes on.
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
    let mut r = KaldiReader::open_raw(&options.fst1_in)?;
    r.set_binary(true);
    let (first, semiring, [input, _]) = store::read_first_with_symbols(&mut r)?;
    r.finish()?;
    let second = WithSymbols::read(Some(&options.fst2_in))?;
    if second.semiring != semiring {
        bail!(
            "{} has arcs of type {}, and {} has another type",
            options.fst2_in,
            second.arc_type(),
            options.fst1_in
        );
    }
    let WithSymbols { fst: second, symbols: [_, output], .. } = second;
    let fst = match first {
        PlainOrLookAhead::Plain(first) => ops::compose_transducers(&first, &second, options.connect),
        PlainOrLookAhead::LookAhead(first) => ops::compose_look_ahead(&first, &second, options.connect),
    };
    let Some(fst) = fst else {
        bail!("ComposeFst: 1st argument not output label sorted and 2nd argument not input label sorted");
    };
    WithSymbols { fst, semiring, symbols: [input, output] }.write(options.fst_out.as_deref())?;
    Ok(0)
}
