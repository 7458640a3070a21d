//! Lists of labels in files of their own.

use std::collections::HashSet;
use std::hash::Hash;

use kaldi_io::text::parse_integer;
use kaldi_io::{IoError, KaldiReader, Result};

/// Reads integers that are separated by blanks or lines.
pub fn read_integers(rxfilename: &str) -> Result<Vec<i32>> {
    let mut r = KaldiReader::open_raw(rxfilename)?;
    let mut integers = Vec::new();
    while let Some(line) = r.read_line()? {
        for word in line.split_ascii_whitespace() {
            let integer = parse_integer(word);
            integers.push(integer.ok_or_else(|| r.error(format!("expected an integer, found '{word}'")))?);
        }
    }
    r.close()?;
    Ok(integers)
}

/// Does the same as [`read_integers`] for disambiguation symbols, which are positive and distinct. An empty name gives
/// an empty list.
pub fn read_disambiguation(rxfilename: &str) -> Result<Vec<i32>> {
    if rxfilename.is_empty() {
        return Ok(Vec::new());
    }
    let symbols = read_labels(rxfilename)?;
    match repeated(&symbols) {
        Some(symbol) => Err(IoError::Value(format!("{rxfilename}: {symbol} appears twice"))),
        None => Ok(symbols),
    }
}

/// Does the same as [`read_integers`] for labels, which are above 0.
pub fn read_labels(rxfilename: &str) -> Result<Vec<i32>> {
    let labels = read_integers(rxfilename)?;
    match labels.iter().find(|&&label| label <= 0) {
        Some(label) => Err(IoError::Value(format!(
            "{rxfilename}: expected labels, which are larger than 0, found {label}"
        ))),
        None => Ok(labels),
    }
}

/// Returns the first element that is there twice.
pub fn repeated<T: Eq + Hash>(values: &[T]) -> Option<&T> {
    let mut seen = HashSet::new();
    values.iter().find(|value| !seen.insert(*value))
}
