//! OpenFst's symbol tables as text: a name and a number a line.

use crate::error::{IoError, Position, Result};
use crate::reader::KaldiReader;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Names by number. If several names share a number, the number has the first of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SymbolTable {
    names: HashMap<i64, String>,
    /// Further names for numbers that already have one.
    further: Vec<(String, i64)>,
}

impl SymbolTable {
    pub fn load(rxfilename: &str) -> Result<SymbolTable> {
        let mut r = KaldiReader::open_raw(rxfilename)?;
        let table = SymbolTable::read(&mut r)?;
        r.close()?;
        Ok(table)
    }

    /// Reads to the end of the file. Skips empty lines.
    pub fn read(r: &mut KaldiReader) -> Result<SymbolTable> {
        let mut table = SymbolTable::default();
        loop {
            // A message names the line that begins here.
            let at_line = r.line();
            let Some(line) = r.read_line()? else { return Ok(table) };
            let bad = |message: String| {
                Err(IoError::Format { name: r.name().to_owned(), position: Position::Line(at_line), message })
            };
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let entry = match words[..] {
                [] => continue,
                [name, number] => number.parse().ok().map(|number: i64| (number, name.to_owned())),
                _ => None,
            };
            let Some((number, name)) = entry.filter(|(number, _)| *number >= 0) else {
                return bad(format!("expected a name and a number, found '{line}'"));
            };
            match table.names.entry(number) {
                Entry::Vacant(place) => {
                    place.insert(name);
                }
                Entry::Occupied(_) => table.further.push((name, number)),
            }
        }
    }

    pub fn name(&self, number: i64) -> Option<&str> {
        self.names.get(&number).map(String::as_str)
    }

    /// Returns the lowest number with a name. It searches all names.
    pub fn number(&self, name: &str) -> Option<i64> {
        let first = self.names.iter().filter(|(_, known)| *known == name).map(|(&number, _)| number);
        let further = self.further.iter().filter(|(known, _)| known == name).map(|&(_, number)| number);
        first.chain(further).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SymbolTable> {
        SymbolTable::read(&mut KaldiReader::from_bytes("phones.txt", text.as_bytes().to_vec()))
    }

    #[test]
    fn names_by_number() {
        let table = read("<eps> 0\nSIL\t1\n\n#0 7").unwrap();
        assert_eq!([0, 1, 7, 2].map(|n| table.name(n)), [Some("<eps>"), Some("SIL"), Some("#0"), None]);
        assert_eq!((table.number("#0"), table.number("#1")), (Some(7), None));
    }

    #[test]
    fn names_that_share_a_number() {
        let table = read("a 1\n<s> 2\n</s> 2\n").unwrap();
        assert_eq!(table.name(2), Some("<s>"));
        assert_eq!(["<s>", "</s>", "b"].map(|name| table.number(name)), [Some(2), Some(2), None]);
    }

    #[test]
    fn wrong_lines() {
        for (text, words) in [
            ("a 1\nb\n", "phones.txt, line 2: expected a name and a number, found 'b'"),
            ("a x\n", "line 1: expected a name and a number, found 'a x'"),
            ("a -1\n", "found 'a -1'"),
            ("a 1 2\n", "found 'a 1 2'"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
