//! Text as users write it: UTF-8, lines that end in LF or CR LF, fields between ASCII blanks. Other blanks are parts of
//! words.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;

use kaldi_io::Contents;
use kaldi_io::error::without_numbers;

use crate::error::{Error, Result};

const BLANKS: [char; 6] = [' ', '\t', '\n', '\u{b}', '\u{c}', '\r'];
/// Characters that are no blanks by Unicode's rules, but as hard to see.
const INVISIBLE: [char; 3] = ['\u{200b}', '\u{2060}', '\u{feff}'];

/// Returns the fields of a line.
pub fn fields(line: &str) -> Vec<&str> {
    line.split(BLANKS).filter(|field| !field.is_empty()).collect()
}

/// The most bytes of a text that is in no file, such as a pipe.
const MOST: u64 = 256 << 20;

/// Reads a file, and decodes it without a byte-order mark. `-` is standard input.
///
/// # Errors
/// The file cannot be read, or is not UTF-8; the error then names the line. A device or a pipe gives more than a text has: it
/// may have no end.
pub fn read(file: &str) -> Result<String> {
    let (name, bytes) = match file {
        "-" => ("standard input", std::io::stdin().as_fd().try_clone_to_owned().map(File::from)),
        _ => (file, File::open(file)),
    };
    match bytes.and_then(content) {
        Ok(Some(bytes)) => decoded(&bytes, name),
        Ok(None) => {
            let problem = format!("expected a text, found more than {} MB that are in no file", MOST >> 20);
            Err(Error::file(name, problem))
        }
        Err(error) => Err(Error::file(name, without_numbers(&error.to_string()))),
    }
}

/// All bytes of a file; `None` if it is no file and has more than a text.
fn content(mut file: File) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    if file.metadata()?.is_file() {
        file.read_to_end(&mut bytes)?;
        return Ok(Some(bytes));
    }
    file.take(MOST + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= MOST).then_some(bytes))
}

/// Decodes bytes without a byte-order mark.
///
/// # Errors
/// The bytes are not UTF-8.
pub fn decoded(bytes: &[u8], name: &str) -> Result<String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => {
            let before = &bytes[..error.valid_up_to()];
            let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
            // (A file of another program is no text with a slip.)
            let kind = match Contents::of(bytes) {
                Some(kind) if line == 1 => format!("; this looks like {kind}"),
                _ => String::new(),
            };
            Err(Error::line(name, line, format!("this is not UTF-8{kind}")))
        }
    }
}

/// Returns the lines of a text that are not empty, without blanks around them, and their numbers.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.split('\n').enumerate().map(|(index, line)| (index + 1, line.trim_matches(BLANKS)));
    lines.filter(|(_, line)| !line.is_empty())
}

/// Returns the names of the blanks inside a word, such as `U+00A0`, each once; an empty string if there are none.
pub fn other_blanks(word: &str) -> String {
    let mut names: Vec<String> = Vec::new();
    for c in word.chars().filter(|c| is_blank(*c) || INVISIBLE.contains(c)) {
        let name = format!("U+{:04X}", c as u32);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(" ")
}

/// Returns a clause for messages that a word is missing: a word of the candidates that looks alike, or blanks inside the word.
/// Empty if there is nothing to say.
pub fn hint<'w>(word: &str, candidates: impl Iterator<Item = &'w str>) -> String {
    let hint = kaldi_io::alike::hint(word, candidates);
    let blanks = other_blanks(word);
    match hint.is_empty() && !blanks.is_empty() {
        true => format!(" (it has {blanks} inside; only ASCII blanks separate words)"),
        false => hint,
    }
}

/// True for whitespace, and for the separators of information (U+001C to U+001F).
fn is_blank(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ascii_blanks_separate_fields() {
        assert_eq!(fields(" a\tb\u{a0}c  d\u{b}e\r"), ["a", "b\u{a0}c", "d", "e"]);
        assert_eq!(other_blanks("b\u{a0}c\u{200b}\u{a0}"), "U+00A0 U+200B");
    }

    #[test]
    fn what_has_no_end_is_no_text() {
        let error = read("/dev/zero").unwrap_err().to_string();
        assert_eq!(error, "/dev/zero: expected a text, found more than 256 MB that are in no file");
        assert_eq!(read("/dev/null").unwrap(), "");
    }

    #[test]
    fn an_error_of_encoding_names_the_line() {
        let error = decoded(b"\xef\xbb\xbfa\nb\xff\n", "file").unwrap_err();
        assert_eq!(error.to_string(), "file, line 2: this is not UTF-8");
        let text = decoded(b"\xef\xbb\xbfa\r\n\n b \n", "file").unwrap();
        assert_eq!(lines(&text).collect::<Vec<_>>(), [(1, "a"), (3, "b")]);
    }
}
