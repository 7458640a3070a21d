//! The text of OpenFst's `fstcompile` and `fstprint`: as in [`text`](crate::text), but states are numbered as they come,
//! and labels and states may be symbols.

use kaldi_io::text::{parse_integer, push_g};
use kaldi_io::{IoError, KaldiReader, KaldiWriter, Result};

use crate::fst::{Arc, Fst, StateId};
use crate::numbering::Numbering;
use crate::store::Symbols;
use crate::weight::Weight;

/// States without a potential between two lines.
const MOST_LEFT_OUT: usize = 1 << 24;
/// Digits of costs.
const PRECISION: usize = 9;

/// Options for reading text.
#[derive(Debug, Clone, Copy, Default)]
pub struct Format<'a> {
    /// Lines of arcs have one label.
    pub acceptor: bool,
    /// Symbols of input and output labels; without them labels are numbers.
    pub labels: [Option<&'a Symbols>; 2],
    pub states: Option<&'a Symbols>,
    /// Keeps the state numbers of the text.
    pub keep_numbers: bool,
}

/// Reads lines up to the end of the file; skips empty ones. The first line begins with the start state.
pub fn read(r: &mut KaldiReader, format: &Format) -> Result<Fst> {
    let mut reader = Lines { format, fst: Fst::default(), numbering: Numbering::default() };
    while let Some(line) = r.read_line()? {
        let columns: Vec<&str> = line.split([' ', '\t', '\r']).filter(|column| !column.is_empty()).collect();
        if !columns.is_empty() {
            reader.add(&columns).map_err(|why| r.error(format!("'{line}': {why}")))?;
        }
    }
    let Lines { fst, numbering, .. } = reader;
    if format.keep_numbers { numbering.keep(fst).map_err(|why| r.error(why)) } else { Ok(fst) }
}

struct Lines<'a> {
    format: &'a Format<'a>,
    fst: Fst,
    numbering: Numbering,
}

impl Lines<'_> {
    /// Adds a line. The error explains an invalid line.
    fn add(&mut self, columns: &[&str]) -> std::result::Result<(), String> {
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
        Ok(self.numbering.place(&mut self.fst, number))
    }
}

fn number(text: &str, symbols: Option<&Symbols>, what: &str) -> std::result::Result<i64, String> {
    match symbols {
        Some(symbols) => symbols.number(text).ok_or_else(|| {
            format!("symbol '{text}' is not in the symbol table {}{}", symbols.title, symbols.hint(text))
        }),
        None => match parse_integer::<i64>(text) {
            None => Err(format!("expected the number of a {what}, found '{text}'")),
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

/// Options for writing an FST as text.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shown<'a> {
    /// One label an arc: the input and output labels must be the same.
    pub acceptor: bool,
    /// Symbols of input and output labels; without them labels are numbers.
    pub labels: [Option<&'a Symbols>; 2],
    pub states: Option<&'a Symbols>,
    /// Costs of 0 are shown too.
    pub zero_costs: bool,
    /// Replaces numbers without a symbol; if absent, such numbers are errors.
    pub missing: Option<&'a str>,
}

/// Writes the lines of the start state first, then the lines of the other states.
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
        // A state without lines would be lost.
        if state.is_final() || state.arcs.is_empty() {
            shown.push(&mut text, i64::from(s), shown.states)?;
            shown.push_weight(&mut text, state.final_weight);
        }
        w.write_str(&text)?;
        text.clear();
    }
    Ok(())
}

/// Writes a line for each state: its number and its distance.
pub fn write_potentials(w: &mut KaldiWriter, distances: &[f32]) -> Result<()> {
    for (s, &distance) in distances.iter().enumerate() {
        let mut text = format!("{s}\t");
        push_cost(&mut text, distance);
        text.push('\n');
        w.write_str(&text)?;
    }
    Ok(())
}

/// Reads lines with the number and the cost of a state, as [`write_potentials`] writes them. States without a line have an
/// infinite cost.
pub fn read_potentials(r: &mut KaldiReader) -> Result<Vec<f32>> {
    let mut potentials = Vec::new();
    while let Some(line) = r.read_line()? {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let pair = match columns[..] {
            [] => continue,
            [state, cost] => parse_integer::<i32>(state).zip(<f32 as Weight>::parse(cost)),
            _ => None,
        };
        let pair = pair.and_then(|(state, cost)| Some((usize::try_from(state).ok()?, cost)));
        let (state, cost) = pair
            .ok_or_else(|| r.error(format!("expected the number of a state and a cost, found '{line}'")))?;
        // (Lines come in the order of states; the limit is that of the text.)
        if state > potentials.len() + MOST_LEFT_OUT {
            return Err(
                r.error(format!("expected states in their order, found {state} after {}", potentials.len()))
            );
        }
        if potentials.len() <= state {
            potentials.resize(state + 1, f32::INFINITY);
        }
        potentials[state] = cost;
    }
    Ok(potentials)
}

fn push_cost(text: &mut String, cost: f32) {
    match cost {
        f32::INFINITY => *text += "Infinity",
        cost => push_g(text, f64::from(cost), PRECISION),
    }
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
            push_cost(text, weight);
        }
        text.push('\n');
    }
}
