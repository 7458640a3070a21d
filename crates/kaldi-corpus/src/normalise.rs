//! Texts as words of a lexicon, by a rule that follows from the lexicon's words and can be printed.

use std::fmt;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// Canonical forms of Unicode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnicodeForm {
    /// Letters with marks are single characters (NFC).
    Composed,
    /// Marks are characters of their own (NFD).
    Decomposed,
}

/// The capitals of the lexicon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// All words are in small letters.
    Lower,
    /// All words are in capitals.
    Upper,
    /// Both occur.
    Mixed,
}

/// The rule by which a text becomes words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The form of letters with marks.
    pub form: UnicodeForm,
    /// The treatment of capitals.
    pub case: Case,
    /// The apostrophe that words have, if any has one.
    pub apostrophe: Option<char>,
    /// True if words have hyphens inside.
    pub has_hyphens: bool,
}

/// Names of silence and noise, which are capitals in lexicons of any case.
const NOISES: [&str; 6] = ["SIL", "SPN", "NSN", "LAU", "UNK", "OOV"];
/// Characters that people write for an apostrophe.
const APOSTROPHES: [char; 7] = ['\'', '\u{2019}', '\u{02bc}', '\u{2018}', '\u{00b4}', '`', '\u{2032}'];
const HYPHENS: [char; 5] = ['-', '\u{2010}', '\u{2011}', '\u{2212}', '\u{fe63}'];
/// Punctuation by Unicode's categories that is spoken.
const SPOKEN: [char; 6] = ['%', '&', '@', '#', '\u{2030}', '\u{ff05}'];
/// Symbols that are not spoken.
const SILENT: [char; 8] = ['`', '^', '~', '|', '<', '>', '\u{00b4}', '\u{00a8}'];

/// True for a word that stands for a noise: `<…>`, `[…]`, `{…}`, `(…)`, `!SIL`.
pub fn is_mark(word: &str) -> bool {
    let pairs = [('<', '>'), ('[', ']'), ('{', '}'), ('(', ')')];
    let is_pair =
        pairs.iter().any(|&(open, close)| word.len() > 2 && word.starts_with(open) && word.ends_with(close));
    is_pair
        || word.len() > 1 && word.starts_with('!') && word[1..].bytes().all(|byte| byte.is_ascii_uppercase())
}

impl Rule {
    /// The rule for a lexicon with these words.
    pub fn of_words<'w>(words: impl Iterator<Item = &'w str>) -> Rule {
        let (mut lower, mut upper, mut composed, mut decomposed) = (false, false, false, false);
        let mut apostrophes = [0usize; APOSTROPHES.len()];
        let mut has_hyphens = false;
        for word in words.filter(|word| !is_mark(word) && !NOISES.contains(word)) {
            lower |= word.chars().any(char::is_lowercase);
            upper |= word.chars().any(char::is_uppercase);
            if !word.is_ascii() {
                composed |= word.nfd().ne(word.chars());
                decomposed |= word.nfc().ne(word.chars());
            }
            for (count, apostrophe) in apostrophes.iter_mut().zip(APOSTROPHES) {
                *count += usize::from(word.contains(apostrophe));
            }
            has_hyphens |= word.trim_matches('-').contains('-');
        }
        let most = apostrophes.iter().copied().max().filter(|&count| count > 0);
        let apostrophe = most.and_then(|most| apostrophes.iter().position(|&count| count == most));
        Rule {
            form: if decomposed && !composed { UnicodeForm::Decomposed } else { UnicodeForm::Composed },
            case: match (lower, upper) {
                (_, false) => Case::Lower,
                (false, true) => Case::Upper,
                (true, true) => Case::Mixed,
            },
            apostrophe: apostrophe.map(|place| APOSTROPHES[place]),
            has_hyphens,
        }
    }

    /// The words of a text. `known` says if the lexicon has a word; words that it lacks are among the result.
    pub fn words(&self, text: &str, known: &dyn Fn(&str) -> bool) -> Vec<String> {
        let mut words = Vec::new();
        for token in text.split_whitespace() {
            let token = self.formed(token);
            if known(&token) {
                words.push(token);
            } else if is_mark(&token) {
                words.push(self.first_known(&token, known).unwrap_or(token));
            } else {
                for piece in pieces(&token) {
                    self.piece(piece, known, &mut words);
                }
            }
        }
        words
    }

    fn formed(&self, token: &str) -> String {
        match self.form {
            UnicodeForm::Composed => token.nfc().collect(),
            UnicodeForm::Decomposed => token.nfd().collect(),
        }
    }

    fn folded(&self, word: &str) -> String {
        let folded = match self.case {
            Case::Lower => word.to_lowercase(),
            Case::Upper => word.to_uppercase(),
            Case::Mixed => return word.to_owned(),
        };
        self.formed(&folded)
    }

    /// The first form of a word that the lexicon has: as it stands, in the lexicon's case, and, if the lexicon has both,
    /// in small letters, with a capital, in capitals.
    fn first_known(&self, word: &str, known: &dyn Fn(&str) -> bool) -> Option<String> {
        let lower = || self.formed(&word.to_lowercase());
        let forms: [&dyn Fn() -> String; 5] = [
            &|| word.to_owned(),
            &|| self.folded(word),
            &lower,
            &|| {
                let lower = lower();
                let mut rest = lower.chars();
                rest.next().into_iter().flat_map(char::to_uppercase).chain(rest).collect()
            },
            &|| self.formed(&word.to_uppercase()),
        ];
        let count = if self.case == Case::Mixed { forms.len() } else { 2 };
        forms[..count].iter().map(|form| form()).find(|form| known(form))
    }

    /// A token without the punctuation that always separates words.
    fn piece(&self, piece: &str, known: &dyn Fn(&str) -> bool, words: &mut Vec<String>) {
        let inner = piece.trim_matches(is_edge);
        if inner.is_empty() {
            return;
        }
        let plain = self.plain(piece.trim_matches(|c| is_edge(c) && !APOSTROPHES.contains(&c)));
        let bare = self.plain(inner);
        // With the apostrophe at its edge ('cause, goin'), with the point of an abbreviation (mr.), without both.
        let pointed = format!("{bare}.");
        let forms = [plain.as_str(), &pointed, &bare].map(|form| (form, self.first_known(form, known)));
        for (form, found) in forms {
            if let Some(found) = found.filter(|_| form != pointed || piece.contains('.')) {
                words.push(found);
                return;
            }
        }
        if let Some(parts) = self.parts(&bare, known) {
            words.extend(parts);
            return;
        }
        words.push(self.folded(&bare));
    }

    /// The lexicon's apostrophe and hyphen; no soft hyphens.
    fn plain(&self, word: &str) -> String {
        let apostrophe = self.apostrophe.unwrap_or('\'');
        let mut out = String::with_capacity(word.len());
        for c in word.chars().filter(|&c| c != '\u{ad}') {
            out.push(match c {
                // (This one is a letter in many orthographies.)
                '\u{02bc}' if self.apostrophe.is_none() => c,
                c if APOSTROPHES.contains(&c) => apostrophe,
                c if HYPHENS.contains(&c) => '-',
                c => c,
            });
        }
        out
    }

    /// The parts of a word that the lexicon lacks: between hyphens or points, or behind an apostrophe.
    fn parts(&self, word: &str, known: &dyn Fn(&str) -> bool) -> Option<Vec<String>> {
        let all_known = |parts: &[&str]| -> Option<Vec<String>> {
            if parts.len() < 2 {
                return None;
            }
            parts.iter().map(|part| self.first_known(part, known)).collect()
        };
        let of = |separator: char| -> Vec<&str> {
            word.split(separator).filter(|part| !part.is_empty()).collect()
        };
        let at_apostrophe = |apostrophe: char| -> Vec<&str> { word.split_inclusive(apostrophe).collect() };
        let found = all_known(&of('-')).or_else(|| all_known(&of('.')));
        let found =
            found.or_else(|| self.apostrophe.and_then(|apostrophe| all_known(&at_apostrophe(apostrophe))));
        if found.is_some() || self.has_hyphens || !word.contains('-') || word.chars().any(char::is_numeric) {
            return found;
        }
        // A lexicon without hyphens has the parts as words, if it has them at all.
        let parts = of('-').into_iter();
        Some(parts.map(|part| self.first_known(part, known).unwrap_or_else(|| self.folded(part))).collect())
    }
}

/// True for a character that is a part of words wherever it stands.
fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || is_combining_mark(c) || matches!(c, '\u{200c}' | '\u{200d}')
}

/// True for punctuation, which is no part of a word at its edges.
fn is_edge(c: char) -> bool {
    if is_of_word(c) || SPOKEN.contains(&c) {
        return false;
    }
    SILENT.contains(&c)
        || matches!(
            c.general_category_group(),
            GeneralCategoryGroup::Punctuation | GeneralCategoryGroup::Other | GeneralCategoryGroup::Separator
        )
}

/// The parts of a token between punctuation that words do not have inside. Points, commas, colons and slashes stay between
/// digits, and points between letters.
fn pieces(token: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut from = 0;
    let mut before: Option<char> = None;
    let mut characters = token.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let after = characters.peek().map(|&(_, c)| c);
        let between_digits = before.zip(after).is_some_and(|(a, b)| a.is_numeric() && b.is_numeric());
        let stays = match c {
            '.' => true,
            ',' | ':' | '/' => between_digits,
            c => !is_edge(c) || APOSTROPHES.contains(&c) || HYPHENS.contains(&c) || c == '\u{ad}',
        };
        if !stays {
            out.push(&token[from..at]);
            from = at + c.len_utf8();
        }
        before = Some(c);
    }
    out.push(&token[from..]);
    out.retain(|piece| !piece.is_empty());
    out
}

impl fmt::Display for Rule {
    /// One clause a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = match self.form {
            UnicodeForm::Composed => "letters with marks are one character (Unicode's form NFC)",
            UnicodeForm::Decomposed => {
                "letters and their marks are characters of their own (Unicode's form NFD)"
            }
        };
        let case = match self.case {
            Case::Lower => "capitals become small letters",
            Case::Upper => "small letters become capitals",
            Case::Mixed => {
                "a word stays as it is if the lexicon has it so; otherwise it may change its capitals"
            }
        };
        let apostrophe = match self.apostrophe {
            Some(apostrophe) => format!("apostrophes become {apostrophe} (U+{:04X})", u32::from(apostrophe)),
            None => "no word of the lexicon has an apostrophe".to_owned(),
        };
        let hyphen = match self.has_hyphens {
            true => "a word with a hyphen is taken apart if the lexicon lacks it and has its parts",
            false => "a word with a hyphen is taken apart",
        };
        writeln!(f, "{form}")?;
        writeln!(f, "{case}")?;
        writeln!(f, "punctuation at the edges of words goes away")?;
        writeln!(f, "{apostrophe}")?;
        writeln!(f, "{hyphen}")?;
        write!(
            f,
            "a word in brackets is a noise (<noise>, [noise], {{noise}}, (noise)); noises and words with digits stay as they are"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(lexicon: &[&str], text: &str) -> String {
        let rule = Rule::of_words(lexicon.iter().copied());
        rule.words(text, &|word| lexicon.contains(&word)).join(" ")
    }

    #[test]
    fn punctuation_goes_and_what_words_have_inside_stays() {
        let lexicon =
            ["don't", "well-known", "mr.", "yes", "no", "l'", "homme", "'cause", "u.s.", "<noise>", "<unk>"];
        for (text, expected) in [
            ("Yes, no! \"Don\u{2019}t\" (yes)…", "yes no don't yes"),
            ("well-known Well\u{2010}Known yes-no", "well-known well-known yes no"),
            ("Mr. No. — U.S. U.S", "mr. no u.s. u.s."),
            ("L\u{2019}homme 'Cause", "l' homme 'cause"),
            ("yes—no yes/no yes...no", "yes no yes no yes no"),
            ("<noise> <NOISE> <cough> [cough]", "<noise> <noise> <cough> [cough]"),
            ("(pause) {noise} [rires] (yes no) (yes)…", "(pause) {noise} [rires] yes no yes"),
            ("yes(2) (s)he ()", "yes 2 s he"),
            ("3.5% 1,000 12:30 co-opt a-3", "3.5% 1,000 12:30 co-opt a-3"),
            ("- ... \u{bf}no? \u{ab}yes\u{bb}", "no yes"),
            ("so\u{ad}ft kye\u{301}ma", "soft ky\u{e9}ma"),
        ] {
            assert_eq!(words(&lexicon, text), expected, "{text}");
        }
    }

    #[test]
    fn capitals_and_forms_are_the_lexicons() {
        assert_eq!(words(&["YES", "STRASSE", "<sil>"], "Yes stra\u{df}e other"), "YES STRASSE OTHER");
        assert_eq!(words(&["der", "Hund", "UNO"], "Der HUND hund Uno Katze"), "der Hund Hund UNO Katze");
        assert_eq!(words(&["yes", "SIL", "<SPOKEN_NOISE>"], "YES"), "yes");
        // A decomposed lexicon.
        assert_eq!(words(&["kye\u{301}ma"], "Ky\u{e9}ma \u{e9}"), "kye\u{301}ma e\u{301}");
        // No apostrophe in the lexicon: the letter U+02BC stays.
        assert_eq!(words(&["a"], "ha\u{2bc}a"), "ha\u{2bc}a");
    }

    #[test]
    fn a_lexicon_without_hyphens_has_parts() {
        assert_eq!(words(&["yes", "no"], "yes-other -no-"), "yes other no");
        let rule = Rule::of_words(["yes"].into_iter());
        assert_eq!(rule.to_string().lines().count(), 6);
    }
}
