//! Letters as phones: lexicons without a lexicon, and spelling with the phones of a lexicon of letters.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::error::{Error, Result};
use crate::lexicon::Lexicon;

/// Returns the phones of a word by its letters; none for a word without letters and digits.
///
/// A phone is a letter in lower case with its marks (NFC). Syllables of Hangul are taken apart into their letters. A digit is
/// a phone `d0` … `d9`. Other signs are silent.
pub fn phones(word: &str) -> Vec<String> {
    let mut phones: Vec<String> = Vec::new();
    let mut takes_marks = false;
    for c in word.to_lowercase().nfc() {
        if let Some(digit) = digit(c) {
            phones.push(format!("d{digit}"));
            takes_marks = false;
        } else if ('\u{ac00}'..='\u{d7a3}').contains(&c) {
            phones.extend(std::iter::once(c).nfd().map(String::from));
            takes_marks = true;
        } else if is_combining_mark(c) {
            if let Some(last) = phones.last_mut().filter(|_| takes_marks) {
                last.push(c);
            }
        } else if is_letter(c) {
            phones.push(c.into());
            takes_marks = true;
        }
    }
    phones
}

fn is_letter(c: char) -> bool {
    matches!(c.general_category_group(), GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number)
}

/// The value of a decimal digit of any script. Unicode has the ten digits of a script in a row.
fn digit(c: char) -> Option<u32> {
    let is_digit = |c: char| c.general_category() == GeneralCategory::DecimalNumber;
    if !is_digit(c) {
        return None;
    }
    let before = (1..).map_while(|back| char::from_u32(u32::from(c) - back).filter(|&c| is_digit(c)));
    Some(before.count() as u32 % 10)
}

/// Spells words with the phones of a lexicon whose phones are letters.
#[derive(Debug, Clone)]
pub struct Speller {
    /// The lexicon's phone for a letter.
    names: HashMap<String, String>,
    name: String,
}

impl Speller {
    /// Takes the phones of a lexicon.
    ///
    /// # Errors
    /// Fewer than half of the words have their letters for phones, apart from capitals.
    pub fn new(lexicon: &Lexicon) -> Result<Speller> {
        let lower = |phone: &String| -> String { phone.to_lowercase().nfc().collect() };
        let mut names = HashMap::new();
        let (mut alike, mut other) = (0, None);
        let mut all = 0;
        for entry in &lexicon.entries {
            let letters = phones(&entry.word);
            if letters.is_empty() || entry.word.starts_with(['<', '[', '!', '{']) {
                continue;
            }
            all += 1;
            if entry.phones.iter().map(lower).eq(letters.iter().cloned()) {
                alike += 1;
                names.extend(letters.into_iter().zip(entry.phones.iter().cloned()));
            } else {
                other.get_or_insert(entry);
            }
        }
        match other {
            Some(entry) if 2 * alike < all => Err(Error::file(
                &lexicon.name,
                format!(
                    "its phones are no letters: '{}' is '{}', so words that it lacks cannot be spelt with them",
                    entry.word,
                    entry.phones.join(" ")
                ),
            )),
            _ if all == 0 => Err(Error::file(&lexicon.name, "it has no words of letters")),
            _ => Ok(Speller { names, name: lexicon.name.clone() }),
        }
    }

    /// Returns the phones of a word, or a clause that says why there are none.
    ///
    /// # Errors
    /// The word has no letters, or one that is no phone of the lexicon.
    pub fn spell(&self, word: &str) -> std::result::Result<Vec<String>, String> {
        let letters = phones(word);
        if letters.is_empty() {
            return Err(format!("the word '{word}' has no letters"));
        }
        let phone = |letter: &String| {
            self.names.get(letter).cloned().ok_or_else(|| {
                format!("the word '{word}' has the letter '{letter}', which is no phone of {}", self.name)
            })
        };
        letters.iter().map(phone).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelt(word: &str) -> String {
        phones(word).join(" ")
    }

    #[test]
    fn letters_keep_their_marks_and_other_signs_are_silent() {
        for (word, expected) in [
            ("Hello", "h e l l o"),
            ("it's", "i t s"),
            ("a\u{308}", "\u{e4}"),
            ("7up", "d7 u p"),
            ("\u{663}\u{665}", "d3 d5"),
            ("\u{1d7d8}", "d0"),
            ("\u{ac04}", "\u{1100} \u{1161} \u{11ab}"),
            ("x\u{323}", "x\u{323}"),
            ("d\u{32a}o", "d\u{32a} o"),
            ("7\u{323}", "d7"),
            ("--", ""),
        ] {
            assert_eq!(spelt(word), expected, "{word}");
        }
    }

    #[test]
    fn words_are_spelt_with_the_phones_of_a_lexicon_of_letters() {
        let lexicon = |text: &str| Lexicon::parse(text, "lex").unwrap().0;
        let speller = Speller::new(&lexicon("Aba A B A\ncab C A B\n<unk> GBG\n")).unwrap();
        assert_eq!(speller.spell("bac").unwrap(), ["B", "A", "C"]);
        let error = speller.spell("bad").unwrap_err();
        assert_eq!(error, "the word 'bad' has the letter 'd', which is no phone of lex");
        assert_eq!(speller.spell("-").unwrap_err(), "the word '-' has no letters");
        // The phones of English have names of letters, too.
        let error = Speller::new(&lexicon("bed B EH D\ned EH D\n")).unwrap_err().to_string();
        assert_eq!(
            error,
            "lex: its phones are no letters: 'bed' is 'B EH D', so words that it lacks cannot be spelt with them"
        );
    }
}
