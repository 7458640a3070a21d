//! Lexicons as people and Kaldi have them: `word phones`, `word probability phones`, the four numbers of
//! `lexiconp_silprob.txt`, `word word phones` of `align_lexicon.txt`, and phones with markers of their place in the word.

use kaldi_io::KaldiReader;
use kaldi_io::text::{count, is_space, parse_real};
use kaldi_lang::cmudict;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Error, Result};

/// A pronunciation of a word.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The word.
    pub word: String,
    /// Above 0, at most 1; 1 if the lexicon has none.
    pub probability: f64,
    /// Names of phones.
    pub phones: Vec<String>,
}

/// A lexicon without the entries that are no words.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lexicon {
    /// The lines, in their order.
    pub entries: Vec<Entry>,
    /// Entries that are left out with the reason, in the order of the file.
    pub left_out: Vec<(String, &'static str)>,
    /// True if the phones had markers of their place (`_B`, `_I`, `_E`, `_S`), which are removed.
    pub had_markers: bool,
    /// Lines that are wrong; only if they are to be skipped.
    pub bad_lines: Vec<String>,
}

/// Numbers between word and phones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Phones,
    Probability,
    /// The first of four numbers is the probability.
    SilenceProbabilities,
    /// The word again.
    Word,
}

/// Faults of a file that are reported at once.
const MOST_FAULTS: usize = 10;

struct Line<'a> {
    number: usize,
    fields: Vec<&'a str>,
}

impl Lexicon {
    /// Reads a lexicon from an rxfilename. With `skip_bad`, lines that make no sense are left out and counted.
    ///
    /// # Errors
    /// The file cannot be read, or a line makes no sense and `skip_bad` is false.
    pub fn load(rxfilename: &str, skip_bad: bool) -> Result<Lexicon> {
        let mut r = KaldiReader::open_raw(rxfilename)?;
        let lexicon = Lexicon::read(&mut r, skip_bad)?;
        r.close()?;
        Ok(lexicon)
    }

    /// Reads to the end. Empty lines are ignored.
    ///
    /// # Errors
    /// A line has no phones, or a probability is not above 0 and at most 1, unless `skip_bad`. There is no word.
    pub fn read(r: &mut KaldiReader, skip_bad: bool) -> Result<Lexicon> {
        let mut text = Vec::new();
        while let Some(line) = r.read_line()? {
            text.push(line);
        }
        let name = r.name().to_owned();
        let mut lines: Vec<Line> = (1..)
            .zip(&text)
            .map(|(number, line)| {
                let line = if number == 1 { line.trim_start_matches('\u{feff}') } else { line };
                let fields = line.split(|c: char| c.is_ascii() && is_space(c as u8));
                Line { number, fields: fields.filter(|field| !field.is_empty()).collect() }
            })
            .filter(|line| line.fields.first().is_some_and(|word| !cmudict::is_comment(word)))
            .collect();
        cmudict::remove_comments(lines.iter_mut().map(|line| &mut line.fields));
        if lines.is_empty() {
            return Err(Error::data(format!(
                "{name}: the lexicon is empty, expected lines 'word phone phone ...'"
            )));
        }
        let form = form_of(&lines);
        let mut lexicon = Lexicon::default();
        let (mut entries, mut faults) = (Vec::new(), Vec::new());
        for line in &lines {
            match parse(line, form) {
                Ok(entry) => entries.push(entry),
                Err(why) if skip_bad => lexicon.bad_lines.push(format!("line {}: {why}", line.number)),
                Err(why) => faults.push(format!("{name}, line {}: {why}", line.number)),
            }
        }
        if !faults.is_empty() {
            let more = faults.len().saturating_sub(MOST_FAULTS);
            faults.truncate(MOST_FAULTS);
            if more > 0 {
                faults.push(format!("… and {}", count(more, "more line")));
            }
            return Err(Error::data(faults.join("\n")));
        }
        lexicon.take(entries);
        if lexicon.entries.is_empty() {
            return Err(Error::data(format!("{name}: the lexicon has no words with phones")));
        }
        Ok(lexicon)
    }

    /// Takes the entries that are words, without markers.
    fn take(&mut self, mut entries: Vec<Entry>) {
        entries.retain(|entry| {
            let is_word = !is_symbol(&entry.word);
            if !is_word {
                self.left_out.push((entry.word.clone(), "is a symbol, no word"));
            }
            is_word
        });
        let spoken: FxHashSet<String> = entries
            .iter()
            .filter(|entry| entry.phones.len() > 1)
            .flat_map(|entry| &entry.phones)
            .map(|phone| without_marker(phone).to_owned())
            .collect();
        let any_spoken = !spoken.is_empty();
        entries.retain(|entry| {
            let is_noise = any_spoken
                && entry.word.chars().count() > 1
                && matches!(&entry.phones[..], [phone] if !spoken.contains(without_marker(phone)));
            if is_noise {
                self.left_out
                    .push((entry.word.clone(), "has a single phone that no other pronunciation has"));
            }
            !is_noise
        });
        self.had_markers = !entries.is_empty() && entries.iter().all(is_marked);
        let mut seen: FxHashMap<(String, Vec<String>), ()> = FxHashMap::default();
        for mut entry in entries {
            if self.had_markers {
                for phone in &mut entry.phones {
                    phone.truncate(without_marker(phone).len());
                }
            }
            if seen.insert((entry.word.clone(), entry.phones.clone()), ()).is_none() {
                self.entries.push(entry);
            }
        }
    }

    /// Returns the entries of each word.
    pub fn words(&self) -> FxHashMap<&str, Vec<&Entry>> {
        let mut words: FxHashMap<&str, Vec<&Entry>> = FxHashMap::default();
        for entry in &self.entries {
            words.entry(&entry.word).or_default().push(entry);
        }
        words
    }
}

/// True for `<unk>`, `[noise]`, `!SIL` and `#0`.
fn is_symbol(word: &str) -> bool {
    let within = |open, close| word.len() > 2 && word.starts_with(open) && word.ends_with(close);
    let named = |mark| {
        word.strip_prefix(mark).is_some_and(|rest| {
            !rest.is_empty() && rest.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        })
    };
    within('<', '>') || within('[', ']') || named('!') || named('#')
}

fn without_marker(phone: &str) -> &str {
    match phone.as_bytes() {
        [_, .., b'_', b'B' | b'I' | b'E' | b'S'] => &phone[..phone.len() - 2],
        _ => phone,
    }
}

/// True if each phone has the marker of its place.
fn is_marked(entry: &Entry) -> bool {
    let last = entry.phones.len() - 1;
    entry.phones.iter().enumerate().all(|(place, phone)| {
        let marker = match (place == 0, place == last) {
            (true, true) => "_S",
            (true, false) => "_B",
            (false, true) => "_E",
            (false, false) => "_I",
        };
        phone.len() > 2 && phone.ends_with(marker)
    })
}

fn number(field: &str) -> Option<f64> {
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E');
    (field.starts_with(|c: char| c.is_ascii_digit() || c == '.') && field.chars().all(digits))
        .then(|| parse_real(field))
        .flatten()
}

fn is_probability(field: &str) -> bool {
    number(field).is_some_and(|value| value > 0.0 && value <= 1.0)
}

/// Returns the form that all lines have.
fn form_of(lines: &[Line]) -> Form {
    let all = |fits: &dyn Fn(&[&str]) -> bool| lines.iter().all(|line| fits(&line.fields));
    let numbers = |fields: &[&str]| fields.iter().all(|field| number(field).is_some());
    if all(&|fields| fields.len() > 5 && is_probability(fields[1]) && numbers(&fields[2..5])) {
        Form::SilenceProbabilities
    } else if all(&|fields| fields.len() > 2 && is_probability(fields[1])) {
        Form::Probability
    } else if all(&|fields| fields.len() > 2 && fields[0] == fields[1]) {
        Form::Word
    } else {
        Form::Phones
    }
}

fn parse(line: &Line, form: Form) -> std::result::Result<Entry, String> {
    let (word, mut rest) = (line.fields[0], &line.fields[1..]);
    let mut probability = 1.0;
    let skipped = match form {
        Form::Phones => 0,
        Form::Probability | Form::Word => 1,
        Form::SilenceProbabilities => 4,
    };
    if matches!(form, Form::Probability | Form::SilenceProbabilities) {
        probability = number(rest[0]).unwrap_or(1.0);
    }
    rest = &rest[skipped..];
    // A line of its own form among lines without numbers: its number has a point, so it is no tone.
    if let (Form::Phones, [first, _, ..]) = (form, rest)
        && first.contains('.')
        && let Some(value) = number(first)
    {
        if !is_probability(first) {
            return Err(format!(
                "expected a probability above 0 and at most 1 behind '{word}', found '{first}'"
            ));
        }
        probability = value;
        rest = &rest[1..];
    }
    if rest.is_empty() {
        return Err(format!("the word '{word}' has no phones"));
    }
    let phones = rest.iter().map(|&phone| phone.to_owned()).collect();
    Ok(Entry { word: cmudict::without_number(word).to_owned(), probability, phones })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Lexicon> {
        Lexicon::read(&mut KaldiReader::from_bytes("lexicon", text.as_bytes().to_vec()), false)
    }

    fn shown(text: &str) -> Vec<String> {
        let entries = read(text).unwrap().entries;
        entries.iter().map(|e| format!("{} {} {}", e.word, e.probability, e.phones.join(" "))).collect()
    }

    #[test]
    fn every_form_of_kaldi_gives_the_same_words() {
        let expected = ["ab 0.5 A B", "ab 1 A P", "c 1 C"];
        assert_eq!(shown("ab 0.5 A B\r\nab 1 A P\n\nc\t1.0 C\n"), expected);
        assert_eq!(shown("\u{feff}ab 0.5 0.1 1.2 1 A B\nab 1 0.2 1 1 A P\nc 1 1 1 0.9 C\n"), expected);
        assert_eq!(shown("<eps> 1 SIL\nab 0.5 A_B B_E\nab 1 A_B P_E\nc 1 C_S\n<unk> 1 SPN_S\n"), expected);
        let plain = ["ab 1 A B", "ab 1 A P", "c 1 C"];
        assert_eq!(shown("<eps> <eps> SIL\nab ab A_B B_E\nab ab A_B P_E\nc c C_S\n"), plain);
        assert_eq!(shown("ab A B\nab(2) A P\nab A B\nc C\n!SIL SIL\n[noise] NSN\n"), plain);
        assert_eq!(shown(";;; a dictionary\nab A B # place, danish\nab(2) A P\nc C\n"), plain);
        assert_eq!(shown("ab A B\nab 0.25 A P\n"), ["ab 1 A B", "ab 0.25 A P"]);
    }

    #[test]
    fn numbers_that_are_tones_and_names_with_underscores_stay_phones() {
        assert_eq!(shown("ma m a 1\nya 1 y\n"), ["ma 1 m a 1", "ya 1 1 y"]);
        assert_eq!(shown("ab A_B B_E\nba B A_B\n"), ["ab 1 A_B B_E", "ba 1 B A_B"]);
    }

    #[test]
    fn symbols_and_noises_are_no_words() {
        let lexicon = read("ab A B\na A\nlaughter LAU\n<unk> SPN\n#0 X\n#tag T A\n! A\n").unwrap();
        let words: Vec<&str> = lexicon.entries.iter().map(|entry| entry.word.as_str()).collect();
        assert_eq!(words, ["ab", "a", "#tag", "!"]);
        let left_out: Vec<&str> = lexicon.left_out.iter().map(|(word, _)| word.as_str()).collect();
        assert_eq!(left_out, ["<unk>", "#0", "laughter"]);
    }

    #[test]
    fn wrong_lines_are_named() {
        let error = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(error("a A\nb\n"), "lexicon, line 2: the word 'b' has no phones");
        let several = error(&format!("a A\n{}", "b\n".repeat(12)));
        assert!(
            several.starts_with("lexicon, line 2: the word 'b' has no phones\nlexicon, line 3: "),
            "{several}"
        );
        assert!(several.lines().count() == 11 && several.ends_with("… and 2 more lines"), "{several}");
        let wrong = "lexicon, line 2: expected a probability above 0 and at most 1 behind 'b', found '1.5'";
        assert_eq!(error("a A\nb 1.5 B\n"), wrong);
        assert_eq!(error("\n \n"), "lexicon: the lexicon is empty, expected lines 'word phone phone ...'");
        assert_eq!(error("<unk> SPN\n"), "lexicon: the lexicon has no words with phones");
        let lexicon = Lexicon::read(&mut KaldiReader::from_bytes("", b"a A\nb\n".to_vec()), true).unwrap();
        assert_eq!(lexicon.bad_lines, ["line 2: the word 'b' has no phones"]);
    }
}
