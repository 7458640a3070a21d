//! Text files: UTF-8, or UTF-16 as Praat and Windows programs write it; lines that end in LF, CR LF or CR.

use std::path::Path;

/// The largest text file that is read, in bytes.
const LARGEST: u64 = 1 << 28;

/// Returns bytes as text, without a byte-order mark. The error is a clause that says what is wrong and where.
///
/// # Errors
/// The bytes are no text of a known encoding.
pub fn decode(bytes: &[u8]) -> Result<String, String> {
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest),
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        // Text does not begin with a character 0, but with ASCII.
        [0, a, 0, b, ..] if *a > 0 && *b > 0 => utf16(bytes, u16::from_be_bytes),
        [a, 0, b, 0, ..] if *a > 0 && *b > 0 => utf16(bytes, u16::from_le_bytes),
        _ => utf8(bytes),
    }
}

fn utf8(bytes: &[u8]) -> Result<String, String> {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.contains('\0') => Err("this is not a text file (it has a character 0)".to_owned()),
        Ok(text) => Ok(text.to_owned()),
        Err(error) => {
            let line = 1 + bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
            Err(format!("line {line} is not UTF-8 (save the file as UTF-8)"))
        }
    }
}

fn utf16(bytes: &[u8], number: fn([u8; 2]) -> u16) -> Result<String, String> {
    let units = bytes.chunks_exact(2).map(|pair| number([pair[0], pair[1]]));
    let text: Result<String, _> = char::decode_utf16(units).collect();
    match text {
        Ok(text) if bytes.len().is_multiple_of(2) => Ok(text),
        _ => Err("this is not UTF-16, as which it begins".to_owned()),
    }
}

/// Reads a text file. The error is a clause behind the file's name.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    decode(&read_bytes(path)?)
}

/// Reads the bytes of a text file. The error is a clause behind the file's name.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, String> {
    let size = path.metadata().map_err(|error| error.to_string())?;
    if !size.is_file() {
        return Err("this is not a file".to_owned());
    }
    if size.len() > LARGEST {
        return Err(format!("the file has {} bytes, more than a text has", size.len()));
    }
    std::fs::read(path).map_err(|error| error.to_string())
}

/// Lines with their numbers from 1, without blanks around them; without those that are empty.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let ends = |text: &str| text.ends_with('\r');
    // A carriage return ends a line by itself only where no line feed does.
    let alone = !text.contains('\n') && (text.contains('\r') && !ends(text) || ends(text));
    let lines: Box<dyn Iterator<Item = &str>> =
        if alone { Box::new(text.split('\r')) } else { Box::new(text.split('\n')) };
    lines
        .map(str::trim)
        .enumerate()
        .map(|(number, line)| (number + 1, line))
        .filter(|(_, line)| !line.is_empty())
}

/// Words with single blanks between them. All of Unicode's blanks separate words.
pub(crate) fn single_blanks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split(is_blank).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// True for blanks, and for characters that are invisible between words.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16_bytes(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn both_encodings_are_read_with_and_without_their_marks() {
        let text = "kyéma ωndω 𝄞";
        let (little, big) = (utf16_bytes(text, u16::to_le_bytes), utf16_bytes(text, u16::to_be_bytes));
        for bytes in [
            text.as_bytes().to_vec(),
            [b"\xef\xbb\xbf", text.as_bytes()].concat(),
            [b"\xff\xfe", &little[..]].concat(),
            [b"\xfe\xff", &big[..]].concat(),
            little,
            big,
        ] {
            assert_eq!(decode(&bytes).unwrap(), text);
        }
        assert_eq!(decode(b"").unwrap(), "");
    }

    #[test]
    fn the_line_that_is_no_text_is_named() {
        assert_eq!(decode(b"a\nb\xe9\n").unwrap_err(), "line 2 is not UTF-8 (save the file as UTF-8)");
        assert!(decode(b"\xff\xfea").unwrap_err().contains("UTF-16"));
        assert!(decode(b"ab\0c").unwrap_err().contains("character 0"));
    }

    #[test]
    fn lines_end_in_three_ways() {
        for text in ["a b\n\nc", "a b\r\n\r\nc\r\n", "a b\r\rc"] {
            assert_eq!(lines(text).collect::<Vec<_>>(), [(1, "a b"), (3, "c")], "{text:?}");
        }
        assert_eq!(single_blanks(" a\u{a0}b\t\n c\u{200b}"), "a b c");
    }
}
