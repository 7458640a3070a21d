//! Parts shared by the programs around graphs: FSTs and lists of labels in files.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use kaldi_cli::FAILED;
pub use kaldi_fst::labels::{read_disambiguation, read_integers, read_labels, repeated};
use kaldi_fst::ops::Semiring;
use kaldi_fst::store::{self, Symbols};
use kaldi_fst::{Fst, LogWeight, Weight, ops};
use kaldi_io::{KaldiReader, KaldiWriter};

use crate::messages;

/// The FST in a file; standard input without a name.
pub fn read(rxfilename: Option<&str>) -> Result<Fst> {
    Ok(store::read_fst(rxfilename.unwrap_or_default())?)
}

/// Writes a file of type `vector`; to standard output without a name.
pub fn write(wxfilename: Option<&str>, fst: &Fst) -> Result<()> {
    Ok(store::write_fst(wxfilename.unwrap_or_default(), fst)?)
}

/// The whole of a program that changes an FST in a file.
pub fn convert(
    from: Option<&str>,
    to: Option<&str>,
    change: impl FnOnce(&mut Fst) -> Result<()>,
) -> Result<u8> {
    let mut fst = read(from)?;
    change(&mut fst)?;
    write(to, &fst)?;
    Ok(0)
}

/// Status of programs that compare, if their inputs differ.
pub const DIFFERENT: u8 = 2;

/// An FST with the symbol tables that its file has.
pub struct WithSymbols {
    pub fst: Fst,
    /// The type of arcs: `standard`, or `log`.
    pub semiring: Semiring,
    /// The symbols of input and of output labels.
    pub symbols: [Option<Symbols>; 2],
}

impl WithSymbols {
    pub fn read(rxfilename: Option<&str>) -> Result<WithSymbols> {
        let mut r = KaldiReader::open_raw(rxfilename.unwrap_or_default())?;
        r.set_binary(true);
        let (fst, semiring, symbols) = store::read_costs_with_symbols(&mut r)?;
        r.finish()?;
        Ok(WithSymbols { fst, semiring, symbols })
    }

    /// Reads an FST with arcs of type `standard`, for programs that need one cheapest path.
    pub fn read_tropical(rxfilename: Option<&str>) -> Result<WithSymbols> {
        let file = WithSymbols::read(rxfilename)?;
        match file.semiring {
            Semiring::Tropical => Ok(file),
            Semiring::Log => bail!(
                "{}: expected arcs of type standard, which have cheapest paths, found arcs of type log (see fstmap \
                 --map_type=to_std)",
                rxfilename.unwrap_or("-")
            ),
        }
    }

    /// Reads two FSTs with arcs of the same type.
    pub fn read_two(first: &str, second: &str) -> Result<[WithSymbols; 2]> {
        let files = [WithSymbols::read(Some(first))?, WithSymbols::read(Some(second))?];
        let [a, b] = [files[0].arc_type(), files[1].arc_type()];
        if a != b {
            bail!("{first} has arcs of type {a}, and {second} has arcs of type {b}");
        }
        Ok(files)
    }

    /// The name of the type of arcs.
    pub fn arc_type(&self) -> &'static str {
        match self.semiring {
            Semiring::Tropical => <f32 as Weight>::ARC_TYPE,
            Semiring::Log => LogWeight::ARC_TYPE,
        }
    }

    pub fn write(self, wxfilename: Option<&str>) -> Result<()> {
        let mut w = KaldiWriter::create(wxfilename.unwrap_or_default(), false)?;
        match self.semiring {
            Semiring::Tropical => store::write_with_symbols(&mut w, &self.fst, self.symbols)?,
            Semiring::Log => store::write_with_symbols(&mut w, &self.fst.into_log(), self.symbols)?,
        }
        Ok(w.finish()?)
    }

    /// Writes a file of type `const`.
    pub fn write_const(self, wxfilename: Option<&str>, aligned: bool) -> Result<()> {
        let mut w = KaldiWriter::create(wxfilename.unwrap_or_default(), false)?;
        match self.semiring {
            Semiring::Tropical => store::write_const_with_symbols(&mut w, &self.fst, aligned, self.symbols)?,
            Semiring::Log => {
                store::write_const_with_symbols(&mut w, &self.fst.into_log(), aligned, self.symbols)?;
            }
        }
        Ok(w.finish()?)
    }
}

/// Pairs of labels in a file, old and new.
pub fn read_pairs(rxfilename: &str) -> Result<rustc_hash::FxHashMap<i32, i32>> {
    let numbers = read_integers(rxfilename)?;
    if let Some(number) = numbers.iter().find(|&&number| number < 0) {
        bail!("{rxfilename}: expected labels, which are not negative, found {number}");
    }
    let (pairs, rest) = numbers.as_chunks::<2>();
    if !rest.is_empty() {
        bail!("{rxfilename}: expected pairs, found {} numbers", numbers.len());
    }
    Ok(pairs.iter().map(|&[old, new]| (old, new)).collect())
}

/// The cost that an option `--weight` means; `neutral` if it is empty.
pub fn weight(text: &str, neutral: f32) -> Result<f32> {
    match text {
        "" => Ok(neutral),
        text => {
            <f32 as Weight>::parse(text).with_context(|| format!("--weight must be a cost, found '{text}'"))
        }
    }
}

/// Checks the options of a search in a program of OpenFst, whose order and limit the programs here do not need.
pub fn check_search(queue_type: &str, nstate: i64) -> Result<()> {
    if !matches!(queue_type, "auto" | "fifo" | "lifo" | "shortest" | "state" | "top") {
        bail!(
            "Unknown or unsupported queue type: {queue_type}; expected auto, fifo, lifo, shortest, state or top"
        );
    }
    if nstate >= 0 {
        bail!(
            "--nstate must be negative (no limit): a search that ends early is not offered, found {nstate}"
        );
    }
    Ok(())
}

/// The symbol table in a text file, if its name is not empty.
pub fn symbols(rxfilename: &str) -> Result<Option<Symbols>> {
    if rxfilename.is_empty() { Ok(None) } else { Ok(Some(Symbols::load(rxfilename)?)) }
}

/// Logs what the preparation of a graph for a grammar has changed, and warns of states that were prepared before.
pub fn log_prepared(new_states: usize, marked_before: usize) {
    for _ in 0..marked_before {
        messages::warn("It looks like you are calling PrepareForGrammarFst twice.");
    }
    messages::log(&format!("Added {new_states} new states while preparing for grammar FST."));
}

/// Writes integers, one a line.
pub fn write_integers(wxfilename: &str, integers: &[i32]) -> Result<()> {
    let mut w = KaldiWriter::create(wxfilename, false)?;
    integers.iter().try_for_each(|integer| w.write_str(&format!("{integer}\n")))?;
    Ok(w.finish()?)
}

/// Writes pairs of integers, one pair a line.
pub fn write_pairs(wxfilename: &str, pairs: &[(i32, i32)]) -> Result<()> {
    let mut w = KaldiWriter::create(wxfilename, false)?;
    pairs.iter().try_for_each(|(old, new)| w.write_str(&format!("{old}\t{new}\n")))?;
    Ok(w.finish()?)
}

/// The beam that a weight threshold of OpenFst means; infinite if the text is empty.
pub fn threshold(weight: &str) -> Result<f32> {
    match weight {
        "" => Ok(f32::INFINITY),
        text => match <f32 as kaldi_fst::Weight>::parse(text).filter(|&beam| beam >= 0.0) {
            Some(beam) => Ok(beam),
            None => bail!("--weight must be a cost that is not negative, found '{text}'"),
        },
    }
}

/// Another seed each time.
pub fn random_seed() -> u64 {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    (time.as_nanos() as u64) ^ u64::from(std::process::id())
}

/// The side of arcs that the name `input` or `output` means.
pub fn side(name: &str) -> Option<ops::Side> {
    match name {
        "input" => Some(ops::Side::Input),
        "output" => Some(ops::Side::Output),
        _ => None,
    }
}

/// The `main` of a program that stands for one of OpenFst's: it does not print its command line, and fails with status 1.
pub fn run_as_openfst<A: clap::Parser>(program: impl FnOnce(A) -> Result<u8>) -> ExitCode {
    const FAILED_IN_OPENFST: u8 = 1;
    let mut argv = kaldi_cli::command_line();
    if !argv.iter().any(|arg| arg.to_string_lossy().starts_with("--generate")) {
        argv.insert(1.min(argv.len()), "--print-args=false".into());
    }
    let status = kaldi_cli::run_with(argv, program);
    if status == ExitCode::from(FAILED) { ExitCode::from(FAILED_IN_OPENFST) } else { status }
}

/// The second operand of a composition needs an order: makes one, if neither has it.
pub fn compose(first: &Fst, second: &Fst, connect: bool) -> Result<Fst> {
    if let Some(composed) = ops::compose_transducers(first, second, connect) {
        return Ok(composed);
    }
    let mut sorted = second.clone();
    ops::sort_arcs(&mut sorted, ops::Side::Input);
    ops::compose_transducers(first, &sorted, connect).context("the arcs could not be sorted")
}
