//! `fstprint`: FST → text.

use anyhow::Result;
use kaldi_fst::openfst_text::{self, Shown};
use kaldi_io::KaldiWriter;
use nnet3::fsts::{WithSymbols, symbols};

/// Prints out binary FSTs in simple text format.
///
/// Labels are shown as symbols if the FST has a symbol table, or if one is given.
#[derive(clap::Parser)]
pub struct Options {
    /// Output in acceptor format
    #[arg(long, default_value_t = false)]
    acceptor: bool,
    /// Input label symbol table
    #[arg(long, default_value = "")]
    isymbols: String,
    /// Output label symbol table
    #[arg(long, default_value = "")]
    osymbols: String,
    /// State label symbol table
    #[arg(long, default_value = "")]
    ssymbols: String,
    /// Print numeric labels
    #[arg(long, default_value_t = false)]
    numeric: bool,
    /// Print arc weights and final weights equal to semiring One
    #[arg(long = "show_weight_one", default_value_t = false)]
    show_weight_one: bool,
    /// Symbol to print when lookup fails (default raises error)
    #[arg(long = "missing_symbol", default_value = "")]
    missing_symbol: String,
    /// Save input symbol table to file
    #[arg(long = "save_isymbols", default_value = "")]
    save_isymbols: String,
    /// Save output symbol table to file
    #[arg(long = "save_osymbols", default_value = "")]
    save_osymbols: String,
    fst_in: Option<String>,
    text_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let file = WithSymbols::read(options.fst_in.as_deref())?;
    let [input, output] = file.symbols;
    let isymbols = symbols(&options.isymbols)?.or(input).filter(|_| !options.numeric);
    let osymbols = symbols(&options.osymbols)?.or(output).filter(|_| !options.numeric);
    let ssymbols = symbols(&options.ssymbols)?;
    let shown = Shown {
        acceptor: options.acceptor,
        labels: [isymbols.as_ref(), osymbols.as_ref()],
        states: ssymbols.as_ref(),
        zero_costs: options.show_weight_one,
        missing: Some(options.missing_symbol.as_str()).filter(|name| !name.is_empty()),
    };
    let mut w = KaldiWriter::create(options.text_out.as_deref().unwrap_or_default(), false)?;
    openfst_text::write(&mut w, &file.fst, &shown)?;
    w.finish()?;
    for (table, name) in [(&isymbols, &options.save_isymbols), (&osymbols, &options.save_osymbols)] {
        if let Some(table) = table.as_ref().filter(|_| !name.is_empty()) {
            let mut w = KaldiWriter::create(name, false)?;
            table.write_text(&mut w)?;
            w.finish()?;
        }
    }
    Ok(0)
}
