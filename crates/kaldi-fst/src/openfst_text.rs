//! The text of OpenFst's `fstcompile` and `fstprint`: as in [`text`](crate::text), but states are numbered as they come,
//! and labels and states may be symbols.

use kaldi_io::text::{parse_integer, push_g};
use kaldi_io::{IoError, KaldiReader, KaldiWriter, Result};
use rustc_hash::FxHashMap;

use crate::fst::{Arc, Fst, StateId};
use crate::store::Symbols;
use crate::weight::Weight;

/// Digits of costs.
const PRECISION: usize = 9;

/// State numbers that are kept may leave gaps, but not so that a short text asks for a lot of memory.
const GAPS: usize = 1000;

/// How to understand text.
#[derive(Debug, Clone, Copy, Default)]
pub struct Format<'a> {
    /// Lines of arcs have one label.
    pub acceptor: bool,
    /// Symbols of input and output labels; without them labels are numbers.
    pub labels: [Option<&'a Symbols>; 2],
    pub states: Option<&'a Symbols>,
    /// States have the numbers that the text gives them.
    pub keep_numbers: bool,
}

/// Reads lines up to the end of the file; empty ones are nothing. The first one begins with the start.
pub fn read(r: &mut KaldiReader, format: &Format) -> Result<Fst> {
    let mut reader = Lines { format, fst: Fst::default(), numbers: FxHashMap::default(), count: 0 };
    while let Some(line) = r.read_line()? {
        let columns: Vec<&str> = line.split([' ', '\t', '\r']).filter(|column| !column.is_empty()).collect();
        if !columns.is_empty() {
            reader.add(&columns).map_err(|why| r.error(format!("'{line}': {why}")))?;
        }
    }
    Ok(reader.fst)
}

struct Lines<'a> {
    format: &'a Format<'a>,
    fst: Fst,
    /// The states by their numbers in the text.
    numbers: FxHashMap<i64, StateId>,
    count: usize,
}

impl Lines<'_> {
    /// The error says why the line makes no sense.
    fn add(&mut self, columns: &[&str]) -> std::result::Result<(), String> {
        self.count += 1;
        let source = self.state(columns[0])?;
        let labels = if self.format.acceptor { 1 } else { 2 };
        match columns.len() {
            1 | 2 => self.fst.state_mut(source).final_weight = weight(columns.get(1))?,
            n if n == 2 + labels || n == 3 + labels => {
                let next = self.state(columns[1])?;
                let ilabel = label(columns[2], self.format.labels[0])?;
                let olabel = if labels == 1 { ilabel } else { label(columns[3], self.format.labels[1])? };
                let weight = weight(columns.get(2 + labels))?;
                self.fst.state_mut(source).arcs.push(Arc { ilabel, olabel, weight, next });
            }
            n => {
                let (short, long) = (2 + labels, 3 + labels);
                return Err(format!("expected 1, 2, {short} or {long} columns, found {n}"));
            }
        }
        self.fst.start.get_or_insert(source);
        Ok(())
    }

    fn state(&mut self, text: &str) -> std::result::Result<StateId, String> {
        let number = number(text, self.format.states, "state")?;
        if self.format.keep_numbers {
            let id = number as usize;
            if id >= 2 * self.count + GAPS {
                return Err(format!("state {number} is far beyond the {} lines up to here", self.count));
            }
            if self.fst.states.len() <= id {
                self.fst.states.resize_with(id + 1, Default::default);
            }
            return Ok(id as StateId);
        }
        let fst = &mut self.fst;
        Ok(*self.numbers.entry(number).or_insert_with(|| fst.add_state()))
    }
}

fn number(text: &str, symbols: Option<&Symbols>, what: &str) -> std::result::Result<i64, String> {
    match symbols {
        Some(symbols) => symbols.number(text).ok_or_else(|| {
            format!("symbol '{text}' is not in the symbol table {}{}", symbols.title, symbols.hint(text))
        }),
        None => match parse_integer::<i64>(text) {
            None => Err(format!("'{text}' is not the number of a {what}")),
            Some(number) if number < 0 => Err(format!("{what} {number} is negative")),
            Some(number) => Ok(number),
        },
    }
}

fn label(text: &str, symbols: Option<&Symbols>) -> std::result::Result<i32, String> {
    let number = number(text, symbols, "label")?;
    i32::try_from(number).map_err(|_| format!("label {number} is too large"))
}

fn weight(text: Option<&&str>) -> std::result::Result<f32, String> {
    let Some(text) = text else { return Ok(0.0) };
    <f32 as Weight>::parse(text).ok_or_else(|| format!("'{text}' is not a possible weight"))
}

/// How text shows an FST.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shown<'a> {
    /// One label an arc: the input and output labels must be the same.
    pub acceptor: bool,
    /// Symbols of input and output labels; without them labels are numbers.
    pub labels: [Option<&'a Symbols>; 2],
    pub states: Option<&'a Symbols>,
    /// Costs of 0 are shown too.
    pub zero_costs: bool,
    /// What stands for a number without a symbol; without it such numbers are errors.
    pub missing: Option<&'a str>,
}

/// Writes the start's lines first, then those of the other states.
pub fn write(w: &mut KaldiWriter, fst: &Fst, shown: &Shown) -> Result<()> {
    if shown.acceptor {
        fst.check_acceptor().map_err(|error| IoError::Value(error.to_string()))?;
    }
    let mut text = String::new();
    let others = (0..fst.states.len() as StateId).filter(|&s| Some(s) != fst.start);
    for s in fst.start.into_iter().chain(others) {
        let state = fst.state(s);
        for arc in &state.arcs {
            shown.push(&mut text, i64::from(s), shown.states)?;
            text.push('\t');
            shown.push(&mut text, i64::from(arc.next), shown.states)?;
            text.push('\t');
            shown.push(&mut text, i64::from(arc.ilabel), shown.labels[0])?;
            if !shown.acceptor {
                text.push('\t');
                shown.push(&mut text, i64::from(arc.olabel), shown.labels[1])?;
            }
            shown.push_weight(&mut text, arc.weight);
        }
        if state.is_final() {
            shown.push(&mut text, i64::from(s), shown.states)?;
            shown.push_weight(&mut text, state.final_weight);
        }
        w.write_str(&text)?;
        text.clear();
    }
    Ok(())
}

impl Shown<'_> {
    fn push(&self, text: &mut String, number: i64, symbols: Option<&Symbols>) -> Result<()> {
        let Some(symbols) = symbols else {
            *text += &number.to_string();
            return Ok(());
        };
        let name = symbols.name(number).or(self.missing);
        *text += name.ok_or_else(|| {
            IoError::Value(format!("{number} has no symbol in the symbol table {}", symbols.title))
        })?;
        Ok(())
    }

    fn push_weight(&self, text: &mut String, weight: f32) {
        if weight != 0.0 || self.zero_costs {
            text.push('\t');
            match weight {
                f32::INFINITY => *text += "Infinity",
                weight => push_g(text, f64::from(weight), PRECISION),
            }
        }
        text.push('\n');
    }
}
