//! `fstcompile`: text → FST.

use anyhow::{Result, bail};
use kaldi_fst::{openfst_text, store};
use kaldi_io::KaldiReader;
use nnet3::fsts::{WithSymbols, symbols};

/// Creates binary FSTs from simple text format.
///
/// A line is an arc (source, destination, input, output and perhaps cost) or a final state (state and perhaps cost). The
/// first line's source is the initial state.
#[derive(clap::Parser)]
pub struct Options {
    /// Input in acceptor format
    #[arg(long, default_value_t = false)]
    acceptor: bool,
    /// Output arc type: "standard" or "log" (costs are negated logarithms of probabilities)
    #[arg(long = "arc_type", default_value = "standard")]
    arc_type: String,
    /// Output FST type: "vector" or "const"
    #[arg(long = "fst_type", default_value = "vector")]
    fst_type: String,
    /// Input label symbol table
    #[arg(long, default_value = "")]
    isymbols: String,
    /// Output label symbol table
    #[arg(long, default_value = "")]
    osymbols: String,
    /// State label symbol table
    #[arg(long, default_value = "")]
    ssymbols: String,
    /// Store input label symbol table with FST
    #[arg(long = "keep_isymbols", default_value_t = false)]
    keep_isymbols: bool,
    /// Store output label symbol table with FST
    #[arg(long = "keep_osymbols", default_value_t = false)]
    keep_osymbols: bool,
    /// Do not renumber input states
    #[arg(long = "keep_state_numbering", default_value_t = false)]
    keep_state_numbering: bool,
    text_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let Some(semiring) = store::semiring(&options.arc_type) else {
        bail!("the arc type must be standard or log, found {}", options.arc_type);
    };
    let (isymbols, osymbols) = (symbols(&options.isymbols)?, symbols(&options.osymbols)?);
    let ssymbols = symbols(&options.ssymbols)?;
    let format = openfst_text::Format {
        acceptor: options.acceptor,
        labels: [isymbols.as_ref(), osymbols.as_ref()],
        states: ssymbols.as_ref(),
        keep_numbers: options.keep_state_numbering,
    };
    let mut r = KaldiReader::open_raw(options.text_in.as_deref().unwrap_or_default())?;
    let fst = openfst_text::read(&mut r, &format)?;
    r.close()?;
    let to = options.fst_out.as_deref();
    match options.fst_type.as_str() {
        "vector" => {
            let kept =
                [isymbols.filter(|_| options.keep_isymbols), osymbols.filter(|_| options.keep_osymbols)];
            WithSymbols { fst, semiring, symbols: kept }.write(to)?;
        }
        "const" if options.keep_isymbols || options.keep_osymbols => {
            bail!("symbol tables are kept in FSTs of type vector only")
        }
        "const" => {
            WithSymbols { fst, semiring, symbols: [None, None] }.write_const(to, false)?;
        }
        other => bail!("the FST type must be vector or const, found {other}"),
    }
    Ok(0)
}
