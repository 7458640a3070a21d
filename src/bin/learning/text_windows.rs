//! Texts as sequences of symbols, for networks that predict the next one.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use kaldi_io::{KaldiReader, KaldiWriter};

/// The characters of a text, numbered from 0 in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vocabulary {
    symbols: Vec<char>,
    ids: BTreeMap<char, i32>,
}

impl Vocabulary {
    /// Collects all characters that occur.
    pub fn of(text: &str) -> Vocabulary {
        let mut symbols: Vec<char> = text.chars().collect();
        symbols.sort_unstable();
        symbols.dedup();
        Vocabulary::new(symbols)
    }

    fn new(symbols: Vec<char>) -> Vocabulary {
        let ids = symbols.iter().enumerate().map(|(id, &symbol)| (symbol, id as i32)).collect();
        Vocabulary { symbols, ids }
    }

    /// Reads a file with a line for each character, as `U+000A 0`: its number in Unicode, and the number of the symbol.
    pub fn read(rxfilename: &str) -> Result<Vocabulary> {
        let mut reader = KaldiReader::open_raw(rxfilename)?;
        let mut symbols = Vec::new();
        while let Some(line) = reader.read_line()? {
            let symbol = line
                .split_once(' ')
                .filter(|(_, id)| id.trim().parse() == Ok(symbols.len()))
                .and_then(|(code, _)| u32::from_str_radix(code.strip_prefix("U+")?, 16).ok())
                .and_then(char::from_u32);
            let Some(symbol) = symbol else {
                let number = symbols.len();
                bail!("{rxfilename}:{}: expected U+CODE {number}, found '{line}'", number + 1);
            };
            symbols.push(symbol);
        }
        reader.close()?;
        let vocabulary = Vocabulary::new(symbols);
        match vocabulary.ids.len() == vocabulary.symbols.len() && !vocabulary.symbols.is_empty() {
            true => Ok(vocabulary),
            false => bail!("{rxfilename}: expected characters, each once"),
        }
    }

    pub fn write(&self, wxfilename: &str) -> Result<()> {
        let mut w = KaldiWriter::create(wxfilename, false)?;
        for (id, &symbol) in self.symbols.iter().enumerate() {
            w.write_bytes(format!("U+{:04X} {id}\n", u32::from(symbol)).as_bytes())?;
        }
        Ok(w.finish()?)
    }

    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    pub fn symbol(&self, id: usize) -> Option<char> {
        self.symbols.get(id).copied()
    }

    /// The symbols of a text; a character that is not in the vocabulary is an error.
    pub fn ids(&self, text: &str) -> Result<Vec<i32>> {
        let id = |(place, symbol): (usize, char)| {
            let found = self.ids.get(&symbol).copied();
            found.with_context(|| {
                format!("character {} ('{}') is not in the vocabulary", place + 1, symbol.escape_default())
            })
        };
        text.chars().enumerate().map(id).collect()
    }
}

/// Reads a text file in UTF-8.
pub fn read_text(rxfilename: &str) -> Result<String> {
    let mut reader = KaldiReader::open_raw(rxfilename)?;
    let mut bytes = Vec::new();
    while !reader.at_eof()? {
        bytes.push(reader.read_byte()?);
    }
    reader.close()?;
    String::from_utf8(bytes).with_context(|| format!("{rxfilename}: expected a text in UTF-8"))
}

/// Returns windows of `context` + `chunk` symbols, with the symbol that follows each. A window begins `chunk` symbols
/// after the previous one.
pub fn windows(ids: &[i32], chunk: usize, context: usize) -> impl Iterator<Item = (&[i32], &[i32])> {
    let width = chunk + context;
    (0..)
        .map(move |k| k * chunk)
        .take_while(move |start| start + width < ids.len())
        .map(move |start| (&ids[start..start + width], &ids[start + 1..start + width + 1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_and_windows() {
        let vocabulary = Vocabulary::of("hello\n");
        assert_eq!((vocabulary.len(), vocabulary.symbol(0)), (5, Some('\n')));
        let ids = vocabulary.ids("hello\n").unwrap();
        assert_eq!(ids, [2, 1, 3, 3, 4, 0]);
        assert!(vocabulary.ids("help").unwrap_err().to_string().contains("character 4 ('p')"));
        let found: Vec<_> = windows(&ids, 2, 1).collect();
        assert_eq!(found, [(&[2, 1, 3][..], &[1, 3, 3][..]), (&[3, 3, 4], &[3, 4, 0])]);
        // As many as there are of 20 and 50 in 200001.
        assert_eq!(windows(&vec![0; 200_001], 50, 20).count(), 3999);
    }
}
