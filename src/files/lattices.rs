//! Parts shared by the programs around lattices.

use anyhow::{Context, Result, bail};
use kaldi_cli::log::{num, ratio};
use kaldi_fst::{Fst, Weight};
use kaldi_hmm::TransitionModel;
use kaldi_io::holder::Holder;
use kaldi_io::symbols::SymbolTable;
use kaldi_io::text::split_integers;
use kaldi_io::{RandomReader, TableWriter};
use nnet3_decode::align::WordBoundaries;
use nnet3_decode::costs::AcousticCosts;
use nnet3_decode::determinize::{Event, Report};
use nnet3_decode::lattice::{compact, expand};
use nnet3_decode::rescore::{self, LanguageModel};
use nnet3_decode::{
    AnyLattice, CompactLattice, CompactLatticeHolder, Lattice, LatticeHolder, Scale, order, prune,
};

use crate::messages;
use crate::tables::{self, Input, Output};

/// Returns the acoustic scale, from its own option or from the option of its inverse. At most one of them may differ
/// from 1.
pub fn acoustic_scale(scale: f32, inverse: f32) -> Result<f64> {
    match (scale, inverse) {
        (scale, 1.0) => Ok(f64::from(scale)),
        (1.0, 0.0) => bail!("--inv-acoustic-scale=0: it cannot be inverted"),
        (1.0, inverse) => Ok(f64::from(1.0 / inverse)),
        _ => bail!("--acoustic-scale={scale} and --inv-acoustic-scale={inverse} exclude each other"),
    }
}

/// Fails for scales that could not be undone.
pub fn check_invertible(acoustic: f64, lm: f64) -> Result<()> {
    if acoustic == 0.0 || lm == 0.0 {
        bail!("an acoustic or LM scale of 0 cannot be undone; choose another");
    }
    Ok(())
}

/// The scale that undoes another.
pub fn inverse(scale: Scale) -> Scale {
    Scale::new(1.0 / scale.lm, 1.0 / scale.acoustic)
}

/// Reads the types of a model's phones, and checks them.
pub fn open_boundaries(rxfilename: &str, model: &TransitionModel) -> Result<WordBoundaries> {
    let boundaries = WordBoundaries::load(rxfilename)?;
    boundaries.check(model).with_context(|| rxfilename.to_owned())?;
    Ok(boundaries)
}

/// A table for writing, if there is a name for it.
pub fn open_writer<H: Holder>(wspecifier: Option<&String>) -> Result<Option<TableWriter<H>>> {
    let named = wspecifier.filter(|name| !name.is_empty());
    Ok(named.map(|name| TableWriter::open(name)).transpose()?)
}

pub fn write<H: Holder>(writer: &mut Option<TableWriter<H>>, key: &str, value: &H::T) -> Result<()> {
    match writer {
        Some(writer) => Ok(writer.write(key, value)?),
        None => Ok(()),
    }
}

pub fn close<H: Holder>(writer: Option<TableWriter<H>>) -> Result<()> {
    Ok(writer.map_or(Ok(()), TableWriter::close)?)
}

/// A symbol table, if there is a name for it.
pub fn open_symbols(rxfilename: &str) -> Result<Option<SymbolTable>> {
    let load = || SymbolTable::load(rxfilename).context("Could not read symbol table");
    if rxfilename.is_empty() { Ok(None) } else { load().map(Some) }
}

/// Says that a word has no name.
pub fn no_name(word: i32) -> String {
    format!("Word-id {word} not in symbol table.")
}

/// True of a lattice without a path to a final state, which is warned about: the program leaves it out.
pub fn is_left_out<W: AnyLattice>(key: &str, lattice: &kaldi_fst::Fst<W>) -> bool {
    let empty = lattice.start.is_none();
    if empty {
        messages::warn(&format!("{key}: the lattice is empty"));
    }
    empty
}

/// Logs the number of entries that were left out, unless it is 0.
pub fn report_left_out(count: u64) {
    if count > 0 {
        messages::warn(&format!("{count} empty lattices were left out"));
    }
}

/// Writes a line with a key and words to stderr, as a person can read it.
pub fn print_words(key: &str, words: &[i32], symbols: &SymbolTable) -> Result<()> {
    let mut line = format!("{key} ");
    for &word in words {
        let name = symbols.name(i64::from(word));
        line += name.with_context(|| no_name(word))?;
        line.push(' ');
    }
    line.push('\n');
    kaldi_cli::terminal::print(line.as_bytes());
    Ok(())
}

/// Logs the events of a determinization.
pub fn log_events(report: &Report) {
    for event in &report.events {
        match *event {
            Event::Rebuilt => messages::log("Rebuilding repository."),
            Event::Retrying { beam } => messages::log(&format!(
                "Pruned state-level lattice with beam {} and retrying determinization with that beam.",
                num(beam)
            )),
            Event::OutOfMemory { limit, strings, arcs, elements, kept_strings, effective_beam, beam } => {
                messages::warn(&format!(
                    "Did not reach requested beam in determinize-lattice: size exceeds maximum {limit} bytes; \
                     (repo,arcs,elems) = ({strings},{arcs},{elements}), after rebuilding, repo size was {kept_strings}, \
                     effective beam was {} vs. requested beam {}",
                    num(effective_beam),
                    num(beam)
                ));
            }
        }
    }
}

/// Average numbers of arcs at a time, before and after determinization, for a log line.
#[derive(Default)]
pub struct Depths {
    states_in: f64,
    arcs_out: f64,
    frames: f64,
}

impl Depths {
    /// Adds a pair of lattices: the input, and the output, which is sorted.
    pub fn add(&mut self, input: &Lattice, output: &mut CompactLattice) -> Result<()> {
        order::sort(output)?;
        let depths = prune::depth_per_frame(output)?;
        self.states_in += input.states.len() as f64;
        self.arcs_out += depths.iter().map(|&depth| f64::from(depth)).sum::<f64>();
        self.frames += depths.len() as f64;
        Ok(())
    }

    /// Logs the means; `blank` stands behind the number of frames.
    pub fn log(&self, lattices: u64, blank: &str) {
        if self.frames != 0.0 {
            messages::log(&format!(
                "Average input-lattice depth (measured at at state level) is {}, output depth is {}, over {}{blank}frames  \
                 (average num-frames = {}).",
                ratio(self.states_in, self.frames),
                ratio(self.arcs_out, self.frames),
                num(self.frames),
                ratio(self.frames, lattices as f64)
            ));
        }
    }
}

/// Determinized lattices, in the form that an option asks for.
pub enum LatticeOutput {
    Compact(Output<CompactLatticeHolder>),
    /// Lattices with an arc for each frame. Acoustic costs are the input's.
    Plain(Output<LatticeHolder>),
}

impl LatticeOutput {
    pub fn open(wspecifier: &str, compact: bool) -> Result<LatticeOutput> {
        Ok(match compact {
            true => LatticeOutput::Compact(Output::open(wspecifier)?),
            false => LatticeOutput::Plain(Output::open(wspecifier)?),
        })
    }

    /// Writes a lattice with scaled costs. The plain form needs acoustic costs.
    pub fn write(
        &mut self,
        key: &str,
        lattice: CompactLattice,
        scale: Scale,
        costs: Option<&AcousticCosts>,
    ) -> Result<()> {
        match self {
            LatticeOutput::Compact(output) => output.write(key, &scaled(lattice, inverse(scale))?),
            LatticeOutput::Plain(output) => {
                let mut lattice = expand(&lattice);
                if let Some(costs) = costs {
                    costs.put_into(&mut lattice)?;
                }
                output.write(key, &lattice)
            }
        }
    }

    /// Writes a lattice with an arc for each frame. Its costs stay unchanged.
    pub fn write_lattice(&mut self, key: &str, lattice: &Lattice) -> Result<()> {
        match self {
            LatticeOutput::Compact(output) => output.write(key, &compact(lattice)),
            LatticeOutput::Plain(output) => output.write(key, lattice),
        }
    }

    pub fn done(&self) -> u64 {
        match self {
            LatticeOutput::Compact(output) => output.done,
            LatticeOutput::Plain(output) => output.done,
        }
    }

    pub fn finish(self) -> Result<u8> {
        match self {
            LatticeOutput::Compact(output) => output.finish(),
            LatticeOutput::Plain(output) => output.finish(),
        }
    }
}

/// Aligned lattices. Usable ones are written, and the good and the bad ones are counted.
pub struct AlignedOutput {
    output: Output<CompactLatticeHolder>,
    with_errors: bool,
    good: u64,
    bad: u64,
}

impl AlignedOutput {
    pub fn open(wspecifier: &str, with_errors: bool) -> Result<AlignedOutput> {
        Ok(AlignedOutput { output: Output::open(wspecifier)?, with_errors, good: 0, bad: 0 })
    }

    /// Writes a lattice as it came, counted as bad.
    pub fn pass(&mut self, key: &str, lattice: &CompactLattice) -> Result<()> {
        self.bad += 1;
        self.output.write(key, lattice)
    }

    /// Writes an aligned lattice. `problems` are the problems of the alignment; empty without problems.
    pub fn write(&mut self, key: &str, lattice: &mut CompactLattice, problems: &[String]) -> Result<()> {
        problems.iter().for_each(|problem| messages::warn(&format!("{key}: {problem}")));
        let ok = problems.is_empty();
        let empty = lattice.start.is_none();
        if ok && !empty {
            self.good += 1
        } else {
            self.bad += 1
        }
        match (ok, empty) {
            (true, true) => messages::warn(&format!("Lattice was empty for key {key}")),
            (false, _) if !self.with_errors => {
                messages::warn(&format!("Lattice for {key} did not align correctly, producing no output."));
                return Ok(());
            }
            (false, true) => {
                messages::warn(&format!("Empty aligned lattice for {key}, producing no output."));
            }
            (false, false) => messages::warn(&format!("Outputting partial lattice for {key}")),
            (true, false) => {}
        }
        if empty {
            return Ok(());
        }
        order::sort(lattice)?;
        self.output.write(key, lattice)
    }

    /// Status 0 if more lattices were good than bad.
    pub fn finish(self) -> Result<u8> {
        messages::log(&format!("Successfully aligned {} lattices; {} had errors.", self.good, self.bad));
        match self.output.done {
            0 => self.output.finish(),
            _ => {
                self.output.finish()?;
                Ok(if self.good > self.bad { 0 } else { kaldi_cli::NOTHING_DONE })
            }
        }
    }
}

/// Scales a lattice before a search in it. It is an error if its costs become too large.
pub fn scaled<W: AnyLattice>(
    mut lattice: kaldi_fst::Fst<W>,
    scale: Scale,
) -> nnet3_decode::Result<kaldi_fst::Fst<W>> {
    nnet3_decode::lattice::scale_checked(&mut lattice, scale)?;
    Ok(lattice)
}

/// Changes the lattices of a table. A lattice that is empty before or after the change, or that cannot be changed, is
/// left out with a warning.
pub fn map<V: Weight, W: Weight, I: Holder<T = Fst<V>>, O: Holder<T = Fst<W>>>(
    from: &str,
    to: &str,
    mut change: impl FnMut(Fst<V>) -> nnet3_decode::Result<Fst<W>>,
) -> Result<Output<O>> {
    tables::map::<I, O>(from, to, |_, lattice| {
        match nonempty(lattice).and_then(&mut change).and_then(nonempty) {
            Ok(lattice) => Ok(Ok(lattice)),
            Err(error) => tables::skip(error),
        }
    })
}

/// The lattice, or an error if it is empty.
pub fn nonempty<W: Weight>(lattice: Fst<W>) -> nnet3_decode::Result<Fst<W>> {
    if lattice.start.is_some() { Ok(lattice) } else { Err(nnet3_decode::Error::Empty) }
}

/// Reads a table, and calls `f` with each key, its value, and the value of a second table, if it has the key.
pub fn for_each_pair<A: Holder, B: Holder<T: Clone>>(
    first: &str,
    second: &str,
    mut f: impl FnMut(&str, A::T, Option<B::T>) -> Result<()>,
) -> Result<()> {
    let input = Input::<A>::open(first)?;
    let mut others = RandomReader::<B>::open(second)?;
    input.for_each(|key, value| {
        let other = others.get(key)?.cloned();
        f(key, value, other)
    })?;
    Ok(others.close()?)
}

/// Phones between colons; none, with a warning, if there is no text.
pub fn silence_phones(text: &str) -> Result<Vec<i32>> {
    if text.is_empty() {
        messages::warn("No silence phones specified, make sure this is what you intended.");
        return Ok(Vec::new());
    }
    split_integers(text, &[':'], false)
        .with_context(|| format!("--silence-phones={text}: expected integers between colons, as in 1:2:3"))
}

/// The loop of the programs that add the costs of a language model to lattices.
pub fn rescore(from: &str, to: &str, lm: &LanguageModel, lm_scale: f32) -> Result<u8> {
    let mut output = Output::<CompactLatticeHolder>::open(to)?;
    Input::<LatticeHolder>::open(from)?.for_each(|key, lattice| {
        if lm_scale == 0.0 {
            return output.write(key, &compact(&lattice));
        }
        let (rescored, _) = rescore::rescore(lattice, lm, lm_scale)?;
        if rescored.start.is_none() {
            messages::warn(&format!("Empty lattice for utterance {key} (incompatible LM?)"));
            output.failed += 1;
            return Ok(());
        }
        output.write(key, &rescored)
    })?;
    messages::log(&format!("Done {} lattices, failed for {}", output.done, output.failed));
    output.finish()
}
