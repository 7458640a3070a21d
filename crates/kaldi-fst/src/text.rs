//! The text form (what OpenFst's `fstprint` shows): a line for each arc and final state, an empty line at the end.
//!
//! `src dst ilabel olabel [weight]` or `state [weight]`, separated by tabs. The first line's state is the start. Kaldi
//! puts a line break before the first line, so that in a table the key has a line of its own.

use kaldi_io::text::{FILE_PRECISION, parse_integer, push_g};
use kaldi_io::{IoError, KaldiReader, KaldiWriter};

use crate::fst::{Arc, Fst, StateId};

/// State numbers may leave gaps, but not so that a short text asks for a lot of memory.
const GAPS: usize = 1000;

/// Reads from after the key or token up to the empty line or the end of the file.
pub fn read(r: &mut KaldiReader) -> kaldi_io::Result<Fst> {
    let first = r.read_line()?.ok_or_else(|| r.error("expected an FST, found the end of the file"))?;
    if !first.trim().is_empty() {
        return Err(r.error(format!("expected the end of the line before an FST, found '{}'", first.trim())));
    }
    let mut fst = Fst::default();
    let mut lines = 0;
    while let Some(line) = r.read_line()? {
        let columns: Vec<&str> = line.split(['\t', ' ', '\r']).filter(|column| !column.is_empty()).collect();
        if columns.is_empty() {
            break;
        }
        lines += 1;
        add_line(&mut fst, &columns, lines).map_err(|why| r.error(format!("'{line}': {why}")))?;
    }
    Ok(fst)
}

/// The error says why the line makes no sense.
fn add_line(fst: &mut Fst, columns: &[&str], lines: usize) -> Result<(), String> {
    let number = |text: &str| parse_integer::<i32>(text).ok_or(format!("'{text}' is not an integer"));
    let label = |text: &str| match number(text)? {
        label if label < 0 => Err(format!("label {label} is negative")),
        label => Ok(label),
    };
    let mut state = |text: &str| -> Result<StateId, String> {
        let state = number(text)?;
        let most = 2 * lines + GAPS;
        let id = usize::try_from(state).map_err(|_| format!("state {state} is negative"))?;
        if id >= most {
            return Err(format!("state {state} is far beyond the {lines} lines up to here"));
        }
        if fst.states.len() <= id {
            fst.states.resize_with(id + 1, Default::default);
        }
        Ok(id as StateId)
    };
    let source = state(columns[0])?;
    match *columns {
        [_] => fst.state_mut(source).final_weight = 0.0,
        [_, weight] => fst.state_mut(source).final_weight = parse_weight(weight)?,
        [_, next, ilabel, olabel, ref weight @ ..] if weight.len() <= 1 => {
            let next = state(next)?;
            let weight = weight.first().map_or(Ok(0.0), |weight| parse_weight(weight))?;
            let arc = Arc { ilabel: label(ilabel)?, olabel: label(olabel)?, weight, next };
            fst.state_mut(source).arcs.push(arc);
        }
        _ => return Err(format!("expected 1, 2, 4 or 5 columns, found {}", columns.len())),
    }
    fst.start.get_or_insert(source);
    Ok(())
}

fn parse_weight(text: &str) -> Result<f32, String> {
    let weight: f32 = match text {
        "Infinity" => f32::INFINITY,
        _ => text.parse().map_err(|_| format!("'{text}' is not a weight"))?,
    };
    if is_weight(weight) { Ok(weight) } else { Err(format!("{text} is not a possible weight")) }
}

/// Whether a cost makes sense: anything but "not a number" and minus infinity.
pub(crate) fn is_weight(weight: f32) -> bool {
    !weight.is_nan() && weight != f32::NEG_INFINITY
}

/// Writes line break, lines, empty line.
pub fn write(w: &mut KaldiWriter, fst: &Fst) -> kaldi_io::Result<()> {
    let mut text = String::from("\n");
    // The start comes first: readers know it by that.
    let others = fst.numbered().filter(|(s, _)| Some(*s) != fst.start);
    for (s, state) in fst.start.map(|start| (start, fst.state(start))).into_iter().chain(others) {
        for arc in &state.arcs {
            text += &format!("{s}\t{}\t{}\t{}", arc.next, arc.ilabel, arc.olabel);
            push_weight(&mut text, arc.weight);
        }
        if state.is_final() || state.arcs.is_empty() {
            text += &s.to_string();
            push_weight(&mut text, state.final_weight);
        }
        w.write_str(&text)?;
        text.clear();
    }
    text.push('\n');
    w.write_str(&text)
}

/// The rest of a line; a weight of 0 is not written.
fn push_weight(text: &mut String, weight: f32) {
    if weight == f32::INFINITY {
        *text += "\tInfinity";
    } else if weight != 0.0 {
        text.push('\t');
        push_g(text, f64::from(weight), FILE_PRECISION);
    }
    text.push('\n');
}

/// An FST from its text, for tests and tools: lines as above, without those at beginning and end.
pub fn parse(text: &str) -> kaldi_io::Result<Fst> {
    let mut r = KaldiReader::from_bytes("FST", format!("\n{text}").into_bytes());
    let fst = read(&mut r)?;
    match fst.start {
        None => Err(IoError::Value("an FST without lines".to_owned())),
        Some(_) => Ok(fst),
    }
}
