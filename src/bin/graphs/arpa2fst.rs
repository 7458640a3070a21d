//! `arpa2fst`: ARPA language model → FST.

use anyhow::{Context, Result, bail};
use kaldi_cli::log::{self, Site};
use kaldi_fst::ops::{self, Semiring, Side};
use kaldi_fst::store::Symbols;
use kaldi_graph::arpa::{ArpaOptions, Event, UnknownWords, Words, compile};
use kaldi_io::{KaldiReader, KaldiWriter};
use nnet3::fsts::WithSymbols;

use super::named::named;

/// Convert an ARPA format language model into an FST.
///
/// Note: When called without switches, the output G.fst will contain an embedded symbol table.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.: arpa2fst --disambig-symbol=#0 --read-symbol-table=data/lang/words.txt lm/input.arpa G.fst"
)]
pub struct Options {
    /// Maximum warnings to report on ARPA parsing, 0 to disable, -1 to show all
    #[arg(long, default_value_t = 30)]
    max_arpa_warnings: i32,
    /// Beginning of sentence symbol
    #[arg(long, default_value = "<s>")]
    bos_symbol: String,
    /// End of sentence symbol
    #[arg(long, default_value = "</s>")]
    eos_symbol: String,
    /// Disambiguator. If provided (e. g. #0), used on input side of backoff links, and <s> and </s> are replaced with
    /// epsilons
    #[arg(long, default_value = "")]
    disambig_symbol: String,
    /// Use existing symbol table
    #[arg(long, default_value = "")]
    read_symbol_table: String,
    /// Write generated symbol table to a file
    #[arg(long, default_value = "")]
    write_symbol_table: String,
    /// Store symbol table with FST. Symbols always saved to FST if symbol tables are neither read or written (otherwise
    /// symbols would be lost entirely)
    #[arg(long, default_value_t = false)]
    keep_symbols: bool,
    /// Ilabel-sort the output FST
    #[arg(long, default_value_t = true)]
    ilabel_sort: bool,
    arpa_in: String,
    fst_out: Option<String>,
}

const FILE: &str = "arpa-file-parser.cc";
const DATA: Site = Site::new("Read", FILE, 94);
const SECTION: Site = Site::new("Read", FILE, 149);
const WARNING: Site = Site::new("Read", FILE, 219);
const MANY_WARNINGS: Site = Site::new("Read", FILE, 259);
const REDUCED: Site = Site::new("RemoveRedundantStates", "arpa-lm-compiler.cc", 359);

pub fn run(options: Options) -> Result<u8> {
    let to = options.fst_out.as_deref().unwrap_or_default();
    let disambiguator = Some(options.disambig_symbol.as_str()).filter(|symbol| !symbol.is_empty());
    let read_table = Some(options.read_symbol_table.as_str()).filter(|name| !name.is_empty());
    let (mut symbols, unknown, disambiguation) = match read_table {
        Some(name) => {
            let symbols = Symbols::load(name)?;
            let number = disambiguator.map(|symbol| {
                symbols
                    .number(symbol)
                    .with_context(|| format!("Symbol table {name} has no symbol for {symbol}"))
            });
            (symbols, UnknownWords::Skip, number.transpose()?)
        }
        None => {
            let mut symbols = Symbols::new(to);
            symbols.number_or_add("<eps>");
            let number = disambiguator.map(|symbol| symbols.number_or_add(symbol));
            (symbols, UnknownWords::Add, number)
        }
    };
    let begin = i32::try_from(symbols.number_or_add(&options.bos_symbol))?;
    let end = i32::try_from(symbols.number_or_add(&options.eos_symbol))?;
    if begin == 0 || end == 0 || begin == end {
        bail!(
            "BOS and EOS symbols are required, must not be epsilons, and differ from each other. Given: BOS={begin} \
             EOS={end}"
        );
    }
    let disambiguation = i32::try_from(disambiguation.unwrap_or(0))?;
    let most_warnings = usize::try_from(options.max_arpa_warnings).ok();
    let mut arpa = ArpaOptions { words: Words::Symbols(symbols, unknown), begin, end, most_warnings };
    let mut r = KaldiReader::open_raw(&options.arpa_in)?;
    let compiled = compile(&mut r, &mut arpa, disambiguation, &mut |event| match event {
        Event::Data => log::log(&DATA, "Reading \\data\\ section."),
        Event::Section(line) => log::log(&SECTION, &format!("Reading {line} section.")),
        Event::Warning(message) => log::warning(&WARNING, &message),
        Event::ManyWarnings(message) => log::warning(&MANY_WARNINGS, &message),
    })
    .map_err(|error| named(&options.arpa_in, error))?;
    r.close()?;
    let mut fst = compiled.fst;
    if let Some(before) = compiled.states_before {
        log::log(&REDUCED, &format!("Reduced num-states from {before} to {}", fst.states.len()));
    }
    if options.ilabel_sort {
        ops::sort_arcs(&mut fst, Side::Input);
    }
    let Words::Symbols(symbols, _) = arpa.words else {
        bail!("the language model was compiled without a symbol table")
    };
    if !options.write_symbol_table.is_empty() {
        let mut w = KaldiWriter::create(&options.write_symbol_table, false)?;
        symbols.write_text(&mut w)?;
        w.finish()?;
    }
    let nowhere_else = read_table.is_none() && options.write_symbol_table.is_empty();
    let kept = (options.keep_symbols || nowhere_else).then_some(symbols);
    WithSymbols { fst, semiring: Semiring::Tropical, symbols: [kept.clone(), kept] }.write(Some(to))?;
    Ok(0)
}
