//! Lists of words.

use kaldi_io::KaldiReader;
use kaldi_io::text::is_space;
use rustc_hash::FxHashSet;

use crate::error::{Error, Result};

/// The first two columns of the tables of words that this project's programs write (`unknown_words.tsv`).
const HEAD: &str = "word\tcount\t";

/// Reads words, one a line, without those that came before. Empty lines are ignored. Of a table of unknown words, as `nnet3-align`
/// and `corpus-to-data` write it, the first column is read.
///
/// # Errors
/// A line has several words.
pub fn read_words(r: &mut KaldiReader) -> Result<Vec<String>> {
    let (mut words, mut seen) = (Vec::new(), FxHashSet::default());
    let (mut number, mut is_table) = (0, false);
    while let Some(line) = r.read_line()? {
        number += 1;
        let line = if number == 1 { line.trim_start_matches('\u{feff}') } else { &line };
        if number == 1 && line.starts_with(HEAD) {
            is_table = true;
            continue;
        }
        let line = if is_table { line.split('\t').next().unwrap_or_default() } else { line };
        let mut fields =
            line.split(|c: char| c.is_ascii() && is_space(c as u8)).filter(|field| !field.is_empty());
        let Some(word) = fields.next() else { continue };
        if let Some(next) = fields.next() {
            return Err(Error::data(format!(
                "{}, line {number}: expected one word a line, found '{next}' behind '{word}'",
                r.name()
            )));
        }
        if seen.insert(word.to_owned()) {
            words.push(word.to_owned());
        }
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_comes_once_in_the_order_of_the_file() {
        let read = |text: &str| read_words(&mut KaldiReader::from_bytes("words", text.as_bytes().to_vec()));
        assert_eq!(read("\u{feff}b\r\n\n a \nb\nc").unwrap(), ["b", "a", "c"]);
        let table = "word\tcount\tutterances\tfirst place\tremark\nb\t3\t2\ta b.txt\ta noise\na\t1\t1\tx\t\n";
        assert_eq!(read(table).unwrap(), ["b", "a"]);
        let error = read("a\nb 3\n").unwrap_err().to_string();
        assert_eq!(error, "words, line 2: expected one word a line, found '3' behind 'b'");
    }
}
