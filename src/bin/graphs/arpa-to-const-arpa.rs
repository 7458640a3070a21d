//! `arpa-to-const-arpa`: a language model in the ConstArpaLm format.

use anyhow::{Result, bail};
use kaldi_cli::log::{self, Site};
use kaldi_graph::arpa::{ArpaOptions, Event, Words};
use kaldi_io::{KaldiReader, write_object};
use nnet3_decode::lm::ConstArpa;

use super::named::named;

/// Converts an Arpa format language model into ConstArpaLm format, which is for rescoring lattices.
///
/// The words in the input arpa language model must be integers already (utils/map_arpa_lm.pl).
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: arpa-to-const-arpa --bos-symbol=1 --eos-symbol=2 arpa.txt const_arpa")]
pub struct Options {
    /// Integer corresponds to unknown-word in language model. -1 if no such word is provided.
    #[arg(long, default_value_t = -1)]
    unk_symbol: i32,
    /// Integer corresponds to <s>. You must set this to your actual BOS integer.
    #[arg(long, default_value_t = -1)]
    bos_symbol: i32,
    /// Integer corresponds to </s>. You must set this to your actual EOS integer.
    #[arg(long, default_value_t = -1)]
    eos_symbol: i32,
    /// Maximum warnings to report on ARPA parsing, 0 to disable, -1 to show all
    #[arg(long, default_value_t = 30)]
    max_arpa_warnings: i32,
    input_arpa: String,
    const_arpa: String,
}

const FILE: &str = "arpa-file-parser.cc";
const READING: Site = Site::new("BuildConstArpaLm", "const-arpa-lm.cc", 1078);
const DATA: Site = Site::new("Read", FILE, 94);
const SECTION: Site = Site::new("Read", FILE, 149);
const WARNING: Site = Site::new("Read", FILE, 219);

pub fn run(options: Options) -> Result<u8> {
    let (begin, end) = (options.bos_symbol, options.eos_symbol);
    if begin <= 0 || end <= 0 || begin == end {
        bail!("--bos-symbol={begin}, --eos-symbol={end}: expected two different numbers above 0");
    }
    let unknown = Some(options.unk_symbol).filter(|&word| word != -1);
    if unknown.is_some_and(|word| word <= 0) {
        bail!("--unk-symbol={}: expected a number above 0, or -1", options.unk_symbol);
    }
    let most_warnings = usize::try_from(options.max_arpa_warnings).ok();
    let mut arpa = ArpaOptions { words: Words::Numbers, begin, end, most_warnings };
    log::log(&READING, &format!("Reading {}", options.input_arpa));
    let mut r = KaldiReader::open_raw(&options.input_arpa)?;
    let lm = ConstArpa::from_arpa(&mut r, &mut arpa, unknown, &mut |event| match event {
        Event::Data => log::log(&DATA, "Reading \\data\\ section."),
        Event::Section(line) => log::log(&SECTION, &format!("Reading {line} section.")),
        Event::Warning(message) | Event::ManyWarnings(message) => log::warning(&WARNING, &message),
    })
    .map_err(|error| named(&options.input_arpa, error))?;
    r.close()?;
    write_object(&options.const_arpa, true, &lm)?;
    Ok(0)
}
