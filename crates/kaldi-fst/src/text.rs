//! The text form of OpenFst's `fstprint`: a line for each arc and final state, and an empty line at the end.
//!
//! `src dst ilabel olabel [weight]` or `state [weight]`, separated by tabs; `src dst label [weight]` for the weights of
//! acceptors. The first line's state is the start. Kaldi puts a line break before the first line, so the key of a table
//! has a line of its own.

use kaldi_io::text::parse_integer;
use kaldi_io::{IoError, KaldiReader, KaldiWriter};

use crate::fst::{Arc, Fst, StateId};
use crate::numbering::Numbering;
use crate::weight::Weight;

/// Reads from after the key or token up to the empty line. Fails if the file ends before it: then states or arcs may be
/// missing.
pub fn read<W: Weight>(r: &mut KaldiReader) -> kaldi_io::Result<Fst<W>> {
    let mut reader = LineReader::new(r)?;
    let mut builder = Builder::default();
    while let Some(line) = reader.next_line()? {
        builder.add(&line).map_err(|why| reader.error(&line, &why))?;
    }
    Ok(builder.finish())
}

/// The lines of one FST.
pub struct LineReader<'r>(&'r mut KaldiReader);

impl<'r> LineReader<'r> {
    /// Goes to the first line; the text before it must be the end of a line.
    pub fn new(r: &'r mut KaldiReader) -> kaldi_io::Result<LineReader<'r>> {
        let first = r.read_line()?.ok_or_else(|| r.error("expected an FST, found the end of the file"))?;
        match first.trim() {
            "" => Ok(LineReader(r)),
            other => {
                Err(r
                    .error(format!("expected the end of the line before an FST, found '{}'", excerpt(other))))
            }
        }
    }

    /// Returns the next line, or `None` after the empty line. Fails at the end of the file.
    pub fn next_line(&mut self) -> kaldi_io::Result<Option<String>> {
        let line = self.0.read_line()?.ok_or_else(|| {
            self.0.error(
                "the file ends inside an FST: expected an empty line behind its last line (the file may be cut short)",
            )
        })?;
        Ok(Some(line).filter(|line| columns(line).next().is_some()))
    }

    /// Says why a line makes no sense.
    pub fn error(&self, line: &str, why: &str) -> IoError {
        self.0.error(format!("'{}': {why}", excerpt(line)))
    }
}

fn excerpt(line: &str) -> String {
    kaldi_io::text::excerpt(line.as_bytes())
}

fn columns(line: &str) -> impl Iterator<Item = &str> {
    line.split(['\t', ' ', '\r']).filter(|column| !column.is_empty())
}

/// Makes an FST from lines.
pub struct Builder<W> {
    fst: Fst<W>,
    numbering: Numbering,
}

impl<W> Default for Builder<W> {
    fn default() -> Builder<W> {
        Builder { fst: Fst::default(), numbering: Numbering::default() }
    }
}

impl<W: Weight> Builder<W> {
    /// Adds a line that is not empty. The error explains an invalid line.
    pub fn add(&mut self, line: &str) -> Result<(), String> {
        let columns: Vec<&str> = columns(line).collect();
        let source = self.state(columns[0])?;
        match (&columns[1..], W::TEXT_IS_ACCEPTOR) {
            ([], _) => self.fst.state_mut(source).final_weight = W::one(),
            ([weight], _) => self.fst.state_mut(source).final_weight = parse_weight(weight)?,
            ([next, both, weight @ ..], true) if weight.len() <= 1 => {
                self.add_arc(source, next, [both, both], weight)?;
            }
            ([next, ilabel, olabel, weight @ ..], false) if weight.len() <= 1 => {
                self.add_arc(source, next, [ilabel, olabel], weight)?;
            }
            (_, acceptor) => {
                let arcs = if acceptor { "3 or 4" } else { "4 or 5" };
                return Err(format!("expected 1, 2, {arcs} columns, found {}", columns.len()));
            }
        }
        self.fst.start.get_or_insert(source);
        Ok(())
    }

    fn add_arc(
        &mut self,
        source: StateId,
        next: &str,
        labels: [&str; 2],
        weight: &[&str],
    ) -> Result<(), String> {
        let next = self.state(next)?;
        let weight = weight.first().map_or(Ok(W::one()), |weight| parse_weight(weight))?;
        let arc = Arc { ilabel: label(labels[0])?, olabel: label(labels[1])?, weight, next };
        self.fst.state_mut(source).arcs.push(arc);
        Ok(())
    }

    fn state(&mut self, text: &str) -> Result<StateId, String> {
        match number(text)? {
            state if state < 0 => Err(format!("state {state} is negative")),
            state => Ok(self.numbering.place(&mut self.fst, i64::from(state))),
        }
    }

    /// Returns the FST. Its states keep the numbers of the lines, unless the gaps between these numbers are too large.
    /// Then the states are renumbered in the same order.
    pub fn finish(self) -> Fst<W> {
        self.numbering.sort(self.fst)
    }
}

fn number(text: &str) -> Result<i32, String> {
    parse_integer(text).ok_or_else(|| format!("'{text}' is not an integer"))
}

fn label(text: &str) -> Result<i32, String> {
    match number(text)? {
        label if label < 0 => Err(format!("label {label} is negative")),
        label => Ok(label),
    }
}

fn parse_weight<W: Weight>(text: &str) -> Result<W, String> {
    W::parse(text).ok_or_else(|| format!("'{text}' is not a possible weight"))
}

/// Writes line break, lines, empty line.
pub fn write<W: Weight>(w: &mut KaldiWriter, fst: &Fst<W>) -> kaldi_io::Result<()> {
    let mut text = String::from("\n");
    // The start comes first: readers know it by that.
    let others = fst.numbered().filter(|(s, _)| Some(*s) != fst.start);
    for (s, state) in fst.start.map(|start| (start, fst.state(start))).into_iter().chain(others) {
        for arc in &state.arcs {
            text += &match W::TEXT_IS_ACCEPTOR {
                true => format!("{s}\t{}\t{}", arc.next, arc.ilabel),
                false => format!("{s}\t{}\t{}\t{}", arc.next, arc.ilabel, arc.olabel),
            };
            push_weight(&mut text, &arc.weight);
        }
        if state.is_final() || state.arcs.is_empty() {
            text += &s.to_string();
            push_weight(&mut text, &state.final_weight);
        }
        w.write_str(&text)?;
        text.clear();
    }
    text.push('\n');
    w.write_str(&text)
}

/// The rest of a line; a weight of one is not written.
fn push_weight<W: Weight>(text: &mut String, weight: &W) {
    if !weight.is_one() {
        text.push('\t');
        weight.push_text(text);
    }
    text.push('\n');
}

/// An FST from its text, for tests and tools: lines as above, without those at beginning and end.
pub fn parse(text: &str) -> kaldi_io::Result<Fst> {
    let mut r = KaldiReader::from_bytes("FST", format!("\n{text}\n").into_bytes());
    let fst = read(&mut r)?;
    match fst.start {
        None => Err(IoError::Value("an FST without lines".to_owned())),
        Some(_) => Ok(fst),
    }
}
