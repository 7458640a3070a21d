//! Letters of a word.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;

/// Returns the letters of a word in NFC. A letter is a character with the diacritics that follow it.
///
/// Marks that are sounds of their own stay letters, so that consonants and vowels combine freely: vowel signs of
/// Devanagari and its relatives, points of Hebrew and Arabic, tones of Thai.
pub fn letters(word: &str) -> Vec<String> {
    let mut letters: Vec<String> = Vec::new();
    for character in word.nfc() {
        match letters.last_mut() {
            Some(letter) if is_diacritic(character) => letter.push(character),
            _ => letters.push(character.into()),
        }
    }
    letters
}

/// True for marks above, below and through a letter, nuktas, voicing marks and viramas. Canonical combining classes from 10 to 199 are
/// vowels and tones of single scripts.
fn is_diacritic(character: char) -> bool {
    matches!(canonical_combining_class(character), 1 | 7..=9 | 200..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diacritics_belong_to_their_letter_and_vowel_signs_do_not() {
        assert_eq!(letters("cafe\u{301}"), ["c", "a", "f", "\u{e9}"]);
        assert_eq!(letters("\u{254}\u{303}a"), ["\u{254}\u{303}", "a"]);
        // Devanagari: a vowel sign is a letter, a virama belongs to its consonant.
        assert_eq!(letters("\u{915}\u{93f}\u{924}\u{94d}"), ["\u{915}", "\u{93f}", "\u{924}\u{94d}"]);
        // Hebrew and Arabic points are letters.
        assert_eq!(letters("\u{5d1}\u{5b8}"), ["\u{5d1}", "\u{5b8}"]);
        assert_eq!(letters("\u{628}\u{64e}"), ["\u{628}", "\u{64e}"]);
        // Hangul in parts is Hangul in syllables.
        assert_eq!(letters("\u{1112}\u{1161}\u{11ab}"), ["\u{d55c}"]);
        assert_eq!(letters("\u{301}a"), ["\u{301}", "a"]);
    }
}
