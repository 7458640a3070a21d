//! Lexicons: words with their pronunciations.
//!
//! A line is `word phone phone …`; `word probability phone …`; or, in the form of Kaldi's `lexiconp_silprob.txt` and of the
//! Montreal Forced Aligner's dictionaries, `word probability silence-after correction-silence correction-other phone …`. Comments and
//! numbers of pronunciations are those of the CMU dictionary.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::cmudict;
use crate::error::{Error, Result};
use crate::plain_text::{self, fields, other_blanks};

/// Words that have a meaning of their own in graphs.
pub const RESERVED_WORDS: [&str; 4] = ["<eps>", "#0", "<s>", "</s>"];

/// Silence around a pronunciation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SilenceModel {
    /// The probability of silence after the word; above 0 and below 1.
    pub after: f64,
    /// The factor of the word's probability if silence is before it; above 0.
    pub before_silence: f64,
    /// The factor of the word's probability if no silence is before it; above 0.
    pub before_other: f64,
}

/// A pronunciation of a word.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The word.
    pub word: String,
    /// Above 0 and at most 1.
    pub probability: f64,
    /// Probabilities of silence around the word, if the lexicon has them.
    pub silence: Option<SilenceModel>,
    /// Names of phones.
    pub phones: Vec<String>,
}

/// Pronunciations, in the order of their words' bytes, each once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lexicon {
    /// The lines, in their order.
    pub entries: Vec<Entry>,
    /// The name of the file, for messages.
    pub name: String,
}

/// Phones that may be slips; if there are more, they are the lexicon's style.
const MOST_SLIPS: usize = 2;
/// Pronunciations of a lexicon whose phones should be in several.
const MANY_ENTRIES: usize = 200;

impl Lexicon {
    /// Sorts entries by words and joins equal ones; the larger probability counts.
    pub fn new(name: &str, entries: Vec<Entry>) -> Lexicon {
        let mut places: HashMap<(String, Vec<String>), usize> = HashMap::new();
        let mut unique: Vec<Entry> = Vec::new();
        for entry in entries {
            let place = *places.entry((entry.word.clone(), entry.phones.clone())).or_insert(unique.len());
            match unique.get_mut(place) {
                Some(known) if entry.probability > known.probability => *known = entry,
                Some(_) => {}
                None => unique.push(entry),
            }
        }
        unique.sort_by(|a, b| a.word.as_bytes().cmp(b.word.as_bytes()));
        Lexicon { entries: unique, name: name.to_owned() }
    }

    /// Reads a file. Returns warnings, too: one for each name with blanks inside that are not ASCII, one for comments, and one for words
    /// with the number of a pronunciation, which are the words without it.
    ///
    /// # Errors
    /// The file cannot be read, or lines have no sense; the error names up to ten of them.
    pub fn read(file: &str) -> Result<(Lexicon, Vec<String>)> {
        Lexicon::parse(&plain_text::read(file)?, file)
    }

    /// Does the same as [`read`](Self::read) for a text. `file` is its name in messages.
    ///
    /// # Errors
    /// Lines have no sense.
    pub fn parse(text: &str, file: &str) -> Result<(Lexicon, Vec<String>)> {
        let mut lines: Vec<Line> =
            plain_text::lines(text).map(|(number, line)| (number, fields(line))).collect();
        lines.retain(|(_, columns)| !cmudict::is_comment(columns[0]));
        let comments = cmudict::remove_comments(lines.iter_mut().map(|(_, columns)| columns));
        let words: HashSet<&str> = lines.iter().map(|(_, columns)| columns[0]).collect();
        let with_silence = lines.iter().any(|(_, columns)| has_silence(columns));
        let mut faults = BTreeMap::new();
        let weighted = has_probabilities(&lines, with_silence, &mut faults);
        let mut warnings = Vec::new();
        if comments > 0 {
            warnings.push(format!("{file}: comments behind # are left out: {comments}"));
        }
        let mut numbered = Vec::new();
        let mut entries = Vec::with_capacity(lines.len());
        for (number, columns) in &lines {
            if faults.contains_key(number) {
                continue;
            }
            let word = match cmudict::without_number(columns[0]) {
                stem if words.contains(stem) => stem,
                _ => columns[0],
            };
            if word != columns[0] {
                numbered.push(columns[0]);
            }
            let numbers = match () {
                () if !weighted => 0,
                () if with_silence && has_silence(columns) => 4,
                () if with_silence && !has_probability(columns) => 0,
                () => 1,
            };
            let phones = &columns[1 + numbers..];
            let silence = (numbers == 4).then(|| silence_model(word, &columns[2..5])).transpose();
            let silence = match check(word, phones).and(silence) {
                Ok(silence) => silence,
                Err(problem) => {
                    faults.insert(*number, problem);
                    continue;
                }
            };
            for name in [word].iter().chain(phones) {
                let blanks = other_blanks(name);
                if !blanks.is_empty() {
                    warnings.push(format!(
                        "{file}, line {number}: '{name}' has {blanks} inside; only ASCII blanks separate words"
                    ));
                }
            }
            entries.push(Entry {
                word: word.to_owned(),
                probability: if numbers > 0 { value(columns[1]) } else { 1.0 },
                silence,
                phones: phones.iter().map(|&phone| phone.to_owned()).collect(),
            });
        }
        if let Some(error) = Error::lines(file, faults) {
            return Err(error);
        }
        if let Some(first) = numbered.first() {
            let count = numbered.len();
            warnings.push(format!(
                "{file}: words with a number, such as '{first}', are other pronunciations of the words without it: {count}"
            ));
        }
        let lexicon = Lexicon::new(file, entries);
        warnings.extend(lexicon.odd_phones());
        Ok((lexicon, warnings))
    }

    /// Sentences about phones that may be slips. Such a phone is in one pronunciation alone, and differs from another phone in
    /// capitals alone, or the lexicon has so many pronunciations that its phones are in several. (Alphabets such as SAMPA have many
    /// pairs of letters, which are no slips.)
    fn odd_phones(&self) -> Vec<String> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for entry in &self.entries {
            let phones: HashSet<&str> = entry.phones.iter().map(String::as_str).collect();
            phones.into_iter().for_each(|phone| *counts.entry(phone).or_default() += 1);
        }
        let mut spellings: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        counts.keys().for_each(|&phone| spellings.entry(phone.to_lowercase()).or_default().push(phone));
        spellings.retain(|_, phones| phones.len() > 1);
        let mut sentences = Vec::new();
        if spellings.len() <= MOST_SLIPS {
            for phones in spellings.values().filter(|phones| phones.iter().any(|phone| counts[phone] == 1)) {
                sentences.push(format!(
                    "{}: phones {} differ in capitals alone",
                    self.name,
                    phones.join(" and ")
                ));
            }
        }
        if self.entries.len() >= MANY_ENTRIES {
            let once: Vec<&str> =
                counts.iter().filter(|(_, count)| **count == 1).map(|(phone, _)| *phone).collect();
            if (1..=MOST_SLIPS).contains(&once.len()) {
                sentences.push(format!("{}: in one pronunciation alone: {}", self.name, once.join(", ")));
            }
        }
        sentences
    }

    /// True if an entry is less than certain.
    pub fn has_probabilities(&self) -> bool {
        self.entries.iter().any(|entry| entry.probability < 1.0)
    }

    /// True if an entry says how likely silence is around it.
    pub fn has_silence_models(&self) -> bool {
        self.entries.iter().any(|entry| entry.silence.is_some())
    }
}

/// A line's number and fields.
type Line<'a> = (usize, Vec<&'a str>);

fn check(word: &str, phones: &[&str]) -> std::result::Result<(), String> {
    if RESERVED_WORDS.contains(&word) {
        return Err(format!("'{word}' has a meaning of its own in graphs, and cannot be a word"));
    }
    if phones.is_empty() {
        return Err(format!("the word '{word}' has no pronunciation"));
    }
    for phone in phones {
        if *phone == "<eps>" || is_disambiguation(phone) {
            return Err(format!("'{phone}' cannot be the name of a phone"));
        }
        if is_decimal(phone) {
            return Err(format!(
                "'{phone}' is a number, not a phone; a line has at most one probability, behind the word"
            ));
        }
    }
    Ok(())
}

/// True for `#` and digits.
pub fn is_disambiguation(name: &str) -> bool {
    name.strip_prefix('#')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// True if four numbers are behind the word, of which at least one of the last three is no whole number.
fn has_silence(columns: &[&str]) -> bool {
    columns.len() > 5
        && columns[1..5].iter().all(|column| is_number(column))
        && columns[2..5].iter().any(|column| is_decimal(column))
}

fn silence_model(word: &str, columns: &[&str]) -> std::result::Result<SilenceModel, String> {
    let [after, before_silence, before_other] = [value(columns[0]), value(columns[1]), value(columns[2])];
    if !(after > 0.0 && after < 1.0) {
        return Err(format!(
            "expected a probability of silence behind '{word}' above 0 and below 1, found '{}'",
            columns[0]
        ));
    }
    if let Some(wrong) = columns[1..].iter().find(|column| value(column) <= 0.0 || value(column).is_nan()) {
        return Err(format!("expected a correction for silence before '{word}' above 0, found '{wrong}'"));
    }
    Ok(SilenceModel { after, before_silence, before_other })
}

/// True if a number is behind the word, and phones behind that.
fn has_probability(columns: &[&str]) -> bool {
    columns.len() > 2 && is_number(columns[1])
}

/// Probabilities are odd if fewer than one of so many lines has one.
const ODD_LINES: usize = 10;

/// True if each line has a probability behind its word. Dictionaries of the Montreal Forced Aligner have lines with four
/// numbers, and lines without any, for words that were not in its training.
///
/// Adds lines without one among others, and lines whose one is out of range, to `faults`.
fn has_probabilities(lines: &[Line], with_silence: bool, faults: &mut BTreeMap<usize, String>) -> bool {
    let decimals = || lines.iter().filter(|line| line.1.len() > 1 && is_decimal(line.1[1]));
    let numbers = || lines.iter().filter(|line| line.1.len() > 2 && is_number(line.1[1]));
    if decimals().next().is_none() && !with_silence {
        // Whole numbers are probabilities only if no phone is called so: a 1 behind every word, or a 0 or 1 behind some.
        if numbers().next().is_none()
            || lines.iter().any(|line| line.1.iter().skip(2).any(|phone| is_number(phone)))
        {
            return false;
        }
        let zero_or_one = |line: &Line| value(line.1[1]) == 0.0 || value(line.1[1]) == 1.0;
        if numbers().count() < lines.len() && !numbers().any(zero_or_one) {
            return false;
        }
    }
    let Some((first, columns)) = decimals().next().or_else(|| numbers().next()) else { return false };
    // (If few lines have one, these are the odd ones.)
    let with_one: Vec<&Line> = lines.iter().filter(|line| line.1.len() > 2 && is_number(line.1[1])).collect();
    if with_one.len() * ODD_LINES < lines.len() && !with_silence {
        for (number, line) in with_one {
            let problem = format!(
                "the word '{}' has a probability, {}, but most lines have none; give all or none",
                line[0], line[1]
            );
            faults.insert(*number, problem);
        }
        return false;
    }
    for (number, line) in lines {
        let word = line[0];
        if with_silence && !has_probability(line) {
            continue;
        }
        if line.len() < 2 || !is_number(line[1]) {
            let problem = format!(
                "the word '{word}' has no probability, but line {first} has one ('{} {} …'); give all or none",
                columns[0], columns[1]
            );
            faults.insert(*number, problem);
            continue;
        }
        let probability = value(line[1]);
        if !(probability > 0.0 && probability <= 1.0) {
            let problem =
                format!("expected a probability above 0 and at most 1 behind '{word}', found '{}'", line[1]);
            faults.insert(*number, problem);
        }
    }
    true
}

/// The value of a number; NaN if it has a comma.
fn value(number: &str) -> f64 {
    number.parse().unwrap_or(f64::NAN)
}

fn without_sign(text: &str) -> &str {
    text.strip_prefix(['-', '+']).unwrap_or(text)
}

fn all_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// True for a number with a point or a comma, which is no name of a phone.
pub fn is_decimal(text: &str) -> bool {
    let Some((whole, rest)) = without_sign(text).split_once(['.', ',']) else { return false };
    let (fraction, exponent) = match rest.split_once(['e', 'E']) {
        Some((fraction, exponent)) => (fraction, Some(without_sign(exponent))),
        None => (rest, None),
    };
    let good_exponent = exponent.is_none_or(|digits| !digits.is_empty() && all_digits(digits));
    all_digits(whole) && all_digits(fraction) && !(whole.is_empty() && fraction.is_empty()) && good_exponent
}

/// True for whole numbers, too.
pub fn is_number(text: &str) -> bool {
    let digits = without_sign(text);
    (!digits.is_empty() && all_digits(digits)) || is_decimal(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Lexicon {
        Lexicon::parse(text, "lex").unwrap().0
    }

    fn error(text: &str) -> String {
        Lexicon::parse(text, "lex").unwrap_err().to_string()
    }

    fn entry(word: &str, probability: f64, phones: &str) -> Entry {
        let phones = phones.split(' ').map(str::to_owned).collect();
        Entry { word: word.to_owned(), probability, silence: None, phones }
    }

    #[test]
    fn entries_are_sorted_by_bytes_and_unique() {
        let lexicon = parse("b\tx y\r\na x\n\na z\na  x\n");
        assert_eq!(lexicon.entries, [entry("a", 1.0, "x"), entry("a", 1.0, "z"), entry("b", 1.0, "x y")]);
        assert_eq!(parse("a 0.2 x\na 0.7 x\n").entries, [entry("a", 0.7, "x")]);
    }

    #[test]
    fn whole_numbers_may_be_phones() {
        assert_eq!(parse("a 1 2\nb 3\n").entries, [entry("a", 1.0, "1 2"), entry("b", 1.0, "3")]);
        assert_eq!(parse("a 1 x\nb 1 y\n").entries, [entry("a", 1.0, "x"), entry("b", 1.0, "y")]);
    }

    #[test]
    fn phones_that_may_be_slips() {
        let warnings = |text: &str| Lexicon::parse(text, "lex").unwrap().1;
        assert_eq!(
            warnings("five f ay V\nseven s v\nsix s f ay\n"),
            ["lex: phones V and v differ in capitals alone"]
        );
        // Letters of SAMPA.
        assert!(warnings("a E e\nb S s\nc Z z\n").is_empty());
        let words = |last: &str| (0..200).map(|n| format!("w{n} a b\n")).collect::<String>() + last;
        assert_eq!(warnings(&words("three th r iyy\nfree th r\n")), ["lex: in one pronunciation alone: iyy"]);
        assert!(warnings(&words("three a b\n")).is_empty());
    }

    #[test]
    fn silence_models_of_kaldi_and_of_the_aligner() {
        let lexicon = parse("a\t0.9\t0.25\t1.5\t0.75\tx y\nb 0.5 z\n");
        let silence = Some(SilenceModel { after: 0.25, before_silence: 1.5, before_other: 0.75 });
        assert_eq!(lexicon.entries, [Entry { silence, ..entry("a", 0.9, "x y") }, entry("b", 0.5, "z")]);
        let mixed = parse("a 0.9 0.25 1.5 0.75 x\nb z\nc 0.5 z\n");
        assert_eq!(mixed.entries[1..], [entry("b", 1.0, "z"), entry("c", 0.5, "z")]);
        let found = error("a 0.9 1.0 1.5 0.7 x\n");
        assert_eq!(
            found,
            "lex, line 1: expected a probability of silence behind 'a' above 0 and below 1, found '1.0'"
        );
    }

    #[test]
    fn the_cmu_dictionary() {
        let text = ";;; # CMUdict\naalto AA1 L T OW2 # name, finnish\na AH0\na(2) EY1\nb(2) B\n";
        let (lexicon, warnings) = Lexicon::parse(text, "lex").unwrap();
        let found: Vec<String> = lexicon
            .entries
            .iter()
            .map(|entry| format!("{} {}", entry.word, entry.phones.join(" ")))
            .collect();
        assert_eq!(found, ["a AH0", "a EY1", "aalto AA1 L T OW2", "b(2) B"]);
        assert_eq!(
            warnings,
            [
                "lex: comments behind # are left out: 1",
                "lex: words with a number, such as 'a(2)', are other pronunciations of the words without it: 1"
            ]
        );
    }

    #[test]
    fn errors_name_file_and_line() {
        assert_eq!(
            error("a x\n<s> y\n"),
            "lex, line 2: '<s>' has a meaning of its own in graphs, and cannot be a word"
        );
        assert_eq!(error("a x\nb\n"), "lex, line 2: the word 'b' has no pronunciation");
        assert_eq!(error("a #3\n"), "lex, line 1: '#3' cannot be the name of a phone");
        let mixed =
            "lex, line 2: the word 'b' has no probability, but line 1 has one ('a 0.5 …'); give all or none";
        assert_eq!(error("a 0.5 x\nb y\n"), mixed);
        let lines: String = (b'a'..=b'z').map(|word| format!("{} x\n", word as char)).collect();
        assert_eq!(
            error(&format!("{lines}zz 0.9 x\n")),
            "lex, line 27: the word 'zz' has a probability, 0.9, but most lines have none; give all or none"
        );
        // All at once, up to ten.
        let several = "<s> y\na x\nb\na #3\n";
        let lines = [
            "lex, line 1: '<s>' has a meaning of its own in graphs, and cannot be a word",
            "lex, line 3: the word 'b' has no pronunciation",
            "lex, line 4: '#3' cannot be the name of a phone",
        ];
        assert_eq!(error(several), lines.join("\n"));
        let many = error(&("w\n".repeat(12) + "a 0,5 x\n"));
        assert!(many.lines().count() == 11 && many.ends_with("\n… and 3 more lines"), "{many}");
        assert_eq!(error("a 0.5 x\nb y\nc 2.0 z\n").lines().count(), 2);
        let range = "lex, line 1: expected a probability above 0 and at most 1 behind 'a', found '0,5'";
        assert_eq!(error("a 0,5 x\n"), range);
        assert!(error("a 0.5 0.5 x\n").contains("'0.5' is a number, not a phone"));
    }
}
