//! `ngramread`: ARPA language model → FST with empty back-off arcs.

use anyhow::{Context, Result, bail};
use kaldi_fst::ops::Semiring;
use kaldi_fst::store::Symbols;
use kaldi_graph::arpa::{Event, compile_ngrams};
use kaldi_io::KaldiReader;
use nnet3::fsts::WithSymbols;
use nnet3::messages;

/// Reads a language model in the ARPA format as an FST with backoff arcs without label, for fstconvert
/// --fst_type=ngram.
///
/// The start is the history of <s>, and </s> is a final cost. The table of words is kept in the FST. N-grams with words
/// that the table lacks are left out with a warning; so are words that share their number with another name.
#[derive(clap::Parser)]
pub struct Options {
    /// Input format is ARPA (must be given: other formats are not read)
    #[arg(long = "ARPA", default_value_t = false)]
    arpa: bool,
    /// Symbol table with the numbers of words (must be given)
    #[arg(long, default_value = "")]
    symbols: String,
    /// Symbol for words that are not in the vocabulary; the table must have it, and the file may have it as any other word
    #[arg(long = "OOV_symbol", default_value = "<unk>")]
    oov_symbol: String,
    /// Maximum warnings to report on ARPA parsing, 0 to disable, -1 to show all
    #[arg(long = "max_arpa_warnings", default_value_t = 30)]
    max_arpa_warnings: i32,
    arpa_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    if !options.arpa {
        bail!("only language models in the ARPA format are read: give --ARPA");
    }
    if options.symbols.is_empty() {
        bail!("--symbols must name the table with the numbers of words");
    }
    let symbols = Symbols::load(&options.symbols)?;
    if symbols.number(&options.oov_symbol).is_none() {
        messages::warn(&format!("{}: there is no {}", options.symbols, options.oov_symbol));
    }
    let from = options.arpa_in.as_deref().unwrap_or_default();
    let mut r = KaldiReader::open_raw(from)?;
    let most_warnings = usize::try_from(options.max_arpa_warnings).ok();
    let fst = compile_ngrams(&mut r, &symbols, most_warnings, &mut |event| {
        if let Event::Warning(message) | Event::ManyWarnings(message) = event {
            messages::warn(&message);
        }
    });
    let fst = fst.with_context(|| r.name().to_owned())?;
    r.close()?;
    WithSymbols { fst, semiring: Semiring::Tropical, symbols: [Some(symbols.clone()), Some(symbols)] }
        .write(options.fst_out.as_deref())?;
    Ok(0)
}
