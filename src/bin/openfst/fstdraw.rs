//! `fstdraw`: an FST as a graph for `dot`.

use anyhow::Result;
use kaldi_fst::draw::{self, Look};
use kaldi_io::KaldiWriter;
use nnet3::fsts::{WithSymbols, symbols};

/// Prints out binary FSTs in dot text format.
#[derive(clap::Parser)]
pub struct Options {
    /// Input in acceptor format
    #[arg(long = "acceptor", default_value_t = false)]
    acceptor: bool,
    /// Input label symbol table
    #[arg(long = "isymbols", default_value = "")]
    isymbols: String,
    /// Output label symbol table
    #[arg(long = "osymbols", default_value = "")]
    osymbols: String,
    /// State label symbol table
    #[arg(long = "ssymbols", default_value = "")]
    ssymbols: String,
    /// Print numeric labels
    #[arg(long = "numeric", default_value_t = false)]
    numeric: bool,
    /// Symbol to print when lookup fails (default raises error)
    #[arg(long = "missing_symbol", default_value = "")]
    missing_symbol: String,
    /// Set precision (number of char/float)
    #[arg(long = "precision", default_value_t = 5)]
    precision: usize,
    /// Print arc weights and final weights equal to semiring One
    #[arg(long = "show_weight_one", default_value_t = false)]
    show_weight_one: bool,
    /// Set figure title
    #[arg(long = "title", default_value = "")]
    title: String,
    /// Portrait mode (def: landscape)
    #[arg(long = "portrait", default_value_t = false)]
    portrait: bool,
    /// Draw bottom-to-top instead of left-to-right
    #[arg(long = "vertical", default_value_t = false)]
    vertical: bool,
    /// Set fontsize
    #[arg(long = "fontsize", default_value_t = 14)]
    fontsize: i32,
    /// Set height
    #[arg(long = "height", default_value_t = 11.0)]
    height: f64,
    /// Set width
    #[arg(long = "width", default_value_t = 8.5)]
    width: f64,
    /// Set minimum separation between nodes (see dot documentation)
    #[arg(long = "nodesep", default_value_t = 0.25)]
    nodesep: f64,
    /// Set minimum separation between ranks (see dot documentation)
    #[arg(long = "ranksep", default_value_t = 0.4)]
    ranksep: f64,
    fst_in: Option<String>,
    dot_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let file = WithSymbols::read(options.fst_in.as_deref())?;
    let [input, output] = file.symbols;
    let isymbols = symbols(&options.isymbols)?.or(input).filter(|_| !options.numeric);
    let osymbols = symbols(&options.osymbols)?.or(output).filter(|_| !options.numeric);
    let ssymbols = symbols(&options.ssymbols)?;
    let look = Look {
        acceptor: options.acceptor,
        labels: [isymbols.as_ref(), osymbols.as_ref()],
        states: ssymbols.as_ref(),
        missing: Some(options.missing_symbol.as_str()).filter(|name| !name.is_empty()),
        zero_costs: options.show_weight_one,
        title: &options.title,
        portrait: options.portrait,
        vertical: options.vertical,
        font_size: options.fontsize,
        size: [options.width, options.height],
        node_distance: options.nodesep,
        rank_distance: options.ranksep,
        precision: options.precision,
    };
    let mut w = KaldiWriter::create(options.dot_out.as_deref().unwrap_or_default(), false)?;
    draw::write(&mut w, &file.fst, &look)?;
    w.finish()?;
    Ok(0)
}
