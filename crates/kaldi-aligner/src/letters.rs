//! Letters of words, with their marks.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The letters of a word, each with its marks, and its other signs; apostrophes are alike.
pub(crate) fn signs(word: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for c in word.nfc() {
        match out.last_mut() {
            Some(sign) if is_combining_mark(c) && is_letter(sign) => sign.push(c),
            _ if c == '\u{2019}' => out.push('\''.to_string()),
            _ => out.push(c.to_string()),
        }
    }
    out
}

/// True for a letter with its marks; other signs have no sound.
pub(crate) fn is_letter(sign: &str) -> bool {
    sign.starts_with(char::is_alphanumeric)
}
