//! Text as numbers: a weight and the numbers of the words, a sentence a line.

use kaldi_io::KaldiReader;
use kaldi_io::text::{parse_integer, parse_real};

use crate::error::Result;

/// A sentence with its weight; `<s>` and `</s>` are not among the words.
#[derive(Debug, Clone, PartialEq)]
pub struct Sentence {
    /// The line of the file, from 1.
    pub line: u64,
    pub weight: f32,
    pub words: Vec<i32>,
}

/// Reads sentences line by line.
pub struct Text {
    r: KaldiReader,
    lines: u64,
}

impl Text {
    /// Opens a file, pipe or `-`.
    pub fn open(rxfilename: &str) -> Result<Text> {
        Ok(Text::new(KaldiReader::open_raw(rxfilename)?))
    }

    pub fn new(r: KaldiReader) -> Text {
        Text { r, lines: 0 }
    }

    /// Lines read so far.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Returns the next sentence, `None` at the end.
    ///
    /// # Errors
    /// The line does not begin with a finite weight, or has a word that is no number.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Sentence>> {
        let Some(line) = self.r.read_line()? else { return Ok(None) };
        self.lines += 1;
        let number = self.lines;
        let name = self.r.name().to_owned();
        let wrong = |expected: &str| {
            let shown = kaldi_io::text::excerpt(line.as_bytes());
            crate::Error::data(format!("{name}, line {number}: expected {expected}, found {shown}"))
        };
        let mut fields = line.split_ascii_whitespace();
        let weight = fields.next().and_then(parse_real).filter(|weight| weight.is_finite());
        let weight = weight.ok_or_else(|| wrong("a weight and the numbers of words"))?;
        let words: Option<Vec<i32>> = fields.map(parse_integer).collect();
        let words = words.ok_or_else(|| wrong("numbers of words after the weight"))?;
        Ok(Some(Sentence { line: number, weight: weight as f32, words }))
    }

    /// Ends reading: the failure of a command is an error.
    pub fn close(self) -> Result<()> {
        Ok(self.r.close()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Sentence>> {
        let mut text = Text::new(KaldiReader::from_bytes("a.txt", text.as_bytes().to_vec()));
        let mut out = Vec::new();
        while let Some(sentence) = text.next()? {
            out.push(sentence);
        }
        Ok(out)
    }

    #[test]
    fn weights_and_words() {
        let sentences = read("0.5 3 4\n1\n  2.0\t7 \n").unwrap();
        assert_eq!(sentences.iter().map(|s| s.weight).collect::<Vec<_>>(), [0.5, 1.0, 2.0]);
        assert_eq!(
            sentences.iter().map(|s| s.words.clone()).collect::<Vec<_>>(),
            [vec![3, 4], vec![], vec![7]]
        );
        assert_eq!(sentences[2].line, 3);
    }

    #[test]
    fn wrong_lines() {
        for (text, expected) in [
            ("1 2\n\n", "a.txt, line 2: expected a weight"),
            ("1 2 x\n", "line 1: expected numbers of words after the weight, found 1 2 x"),
            ("nan 2\n", "expected a weight"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
