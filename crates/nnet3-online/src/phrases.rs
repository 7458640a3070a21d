//! Sentences that consist of given phrases: a language model that is estimated of them takes the place of the model's.
//!
//! The language model is vosk's (`src/language_model.cc` of vosk-api): bigrams with absolute backoff. A phrase
//! w₁ … wₙ counts w₁ after no word, each wᵢ₊₁ after wᵢ, and the end after wₙ. The state without a word also counts all that
//! the other states count. In a state with the sum of counts N, a word (or the end) with the count c costs −log(c · d / N),
//! d = 0.5. Each state with a word goes to the one without for −log(1 − d). Sentences begin there, too, so that they may be
//! several phrases, parts of them, or their words in another order.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read;
use std::sync::Arc;

use kaldi_fst::store::Names;
use kaldi_fst::{EPSILON, FlatFst, Fst};
use kaldi_io::KaldiReader;

use crate::error::{Error, Result};
use crate::first_half::FirstHalf;
use crate::graph::SharedGraph;

/// The share of the counted words in the probability of a state; the rest is for backing off.
const DISCOUNT: f32 = 0.5;
/// Bytes of a file of phrases, at most. A device may have no end.
const MOST_BYTES: u64 = 64 << 20;
/// Words that an error quotes.
const QUOTED: usize = 3;

/// Phrases for the graph of a model. Clones share the grammar.
#[derive(Debug, Clone)]
pub struct Phrases {
    graph: SharedGraph,
    ignored: Arc<[Ignored]>,
    replaced: Arc<[Replaced]>,
}

/// A word of a phrase that has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// The position of the phrase, from 0.
    pub phrase: usize,
    /// The word.
    pub word: String,
    /// True if the word has a name, but no path in the graph.
    pub is_pathless: bool,
}

/// A word of a phrase that the model has with other capitals, or in another Unicode form, alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The position of the phrase, from 0.
    pub phrase: usize,
    /// The word.
    pub word: String,
    /// The word of the model that takes its place.
    pub by: String,
}

impl PartialEq for Phrases {
    /// True for clones of the same phrases.
    fn eq(&self, other: &Phrases) -> bool {
        Arc::ptr_eq(&self.ignored, &other.ignored)
    }
}

impl Phrases {
    /// `names` are those of the model's words. The numbers of words that `half` has are those of its own names, if it has some.
    pub(crate) fn new<S: AsRef<str>>(half: FirstHalf<'_>, names: &Names, phrases: &[S]) -> Result<Phrases> {
        let words = |phrase: &S| -> Vec<String> {
            phrase.as_ref().split_ascii_whitespace().map(str::to_owned).collect()
        };
        let phrases: Vec<Vec<String>> = phrases.iter().map(words).collect();
        let numbers = numbers(names, phrases.iter().flatten().map(String::as_str));
        let labels = half.input_labels(names, &numbers.values().flatten().copied().collect());
        let (mut ignored, mut replaced) = (Vec::new(), Vec::new());
        let mut sentences = Vec::with_capacity(phrases.len());
        for (phrase, words) in phrases.iter().enumerate() {
            let mut sentence = Vec::new();
            for word in words {
                let numbers = numbers.get(word.as_str()).map_or(&[][..], Vec::as_slice);
                let Some(&number) = numbers.iter().find(|number| labels.contains_key(number)) else {
                    let is_pathless = numbers.iter().any(|&number| names.get(number) == Some(word));
                    ignored.push(Ignored { phrase, word: word.clone(), is_pathless });
                    continue;
                };
                sentence.push(number);
                if let Some(by) = names.get(number).filter(|name| name != word) {
                    replaced.push(Replaced { phrase, word: word.clone(), by: by.to_owned() });
                }
            }
            sentences.push(sentence);
        }
        if sentences.iter().all(Vec::is_empty) {
            return Err(Error::NoPhrases { found: quoted(&ignored) });
        }
        let mut grammar = bigrams(&sentences);
        for arc in grammar.states.iter_mut().flat_map(|state| &mut state.arcs) {
            arc.ilabel = labels.get(&arc.olabel).copied().unwrap_or(EPSILON);
        }
        let pair = half.pair.with_grammar(FlatFst::from(&grammar).into());
        Ok(Phrases { graph: pair.into(), ignored: ignored.into(), replaced: replaced.into() })
    }

    /// The words that the model cannot recognise, in the order of the phrases.
    pub fn ignored(&self) -> &[Ignored] {
        &self.ignored
    }

    /// The words in whose place the model has another one, in the order of the phrases.
    pub fn replaced(&self) -> &[Replaced] {
        &self.replaced
    }

    pub(crate) fn graph(&self) -> &SharedGraph {
        &self.graph
    }
}

/// Finds the numbers of words. A word without a number of its own has those of the words that look like it: they differ in capitals
/// or in the Unicode form.
fn numbers<'w>(names: &Names, words: impl Iterator<Item = &'w str>) -> HashMap<&'w str, Vec<i32>> {
    // (Disambiguation symbols are no words.)
    let named = || names.iter().filter(|&(number, name)| number != EPSILON && !is_disambiguation(name));
    let mut numbers: HashMap<&str, Vec<i32>> = words.map(|word| (word, Vec::new())).collect();
    for (number, name) in named() {
        // (The first number of a name counts.)
        if let Some(numbers) = numbers.get_mut(name)
            && numbers.is_empty()
        {
            numbers.push(number);
        }
    }
    let unknown = numbers.iter().filter(|(_, numbers)| numbers.is_empty());
    let mut alike: HashMap<String, Vec<i32>> =
        unknown.map(|(word, _)| (kaldi_io::alike::folded(word), Vec::new())).collect();
    if alike.is_empty() {
        return numbers;
    }
    for (number, name) in named() {
        if let Some(numbers) = alike.get_mut(&kaldi_io::alike::folded(name)) {
            numbers.push(number);
        }
    }
    for (word, numbers) in numbers.iter_mut().filter(|(_, numbers)| numbers.is_empty()) {
        numbers.extend(alike.get(&kaldi_io::alike::folded(word)).into_iter().flatten());
    }
    numbers
}

/// True for `#0`, `#1` and so on. A graph reads no sound for such a symbol, so a loop of them would have no end.
pub(crate) fn is_disambiguation(name: &str) -> bool {
    name.strip_prefix('#')
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Quotes the first of the words.
fn quoted(ignored: &[Ignored]) -> String {
    let shown: Vec<String> =
        ignored.iter().take(QUOTED).map(|ignored| format!("'{}'", ignored.word)).collect();
    match ignored.len() {
        0 => "which are empty".to_owned(),
        1..=QUOTED => format!("which have {}", shown.join(", ")),
        more => format!("which have {} and {} more", shown.join(", "), more - QUOTED),
    }
}

/// Estimates the language model of sentences of words (numbers above 0): an acceptor whose state 0 is that without a word.
pub fn bigrams(sentences: &[Vec<i32>]) -> Fst {
    // Counts by the word before (0 for none) and the word itself (0 for the end).
    let mut counts: BTreeMap<i32, BTreeMap<i32, u64>> = BTreeMap::from([(EPSILON, BTreeMap::new())]);
    for sentence in sentences {
        let mut before = EPSILON;
        for &word in sentence.iter().chain([&EPSILON]) {
            // (The state without a word counts everything.)
            for state in BTreeSet::from([EPSILON, before]) {
                *counts.entry(state).or_default().entry(word).or_default() += 1;
            }
            before = word;
        }
    }
    let states: HashMap<i32, u32> = counts.keys().copied().zip(0..).collect();
    let mut fst = Fst { start: Some(0), ..Fst::default() };
    for (&before, counts) in &counts {
        let from = fst.add_state();
        let total = counts.values().sum::<u64>() as f32;
        for (&word, &count) in counts {
            let weight = -(count as f32 * DISCOUNT / total).ln();
            match states.get(&word) {
                _ if word == EPSILON => fst.state_mut(from).final_weight = weight,
                Some(&next) => {
                    fst.state_mut(from).arcs.push(kaldi_fst::Arc {
                        ilabel: word,
                        olabel: word,
                        weight,
                        next,
                    });
                }
                None => {}
            }
        }
        if before != EPSILON {
            let weight = -(1.0 - DISCOUNT).ln();
            fst.state_mut(from).arcs.push(kaldi_fst::Arc {
                ilabel: EPSILON,
                olabel: EPSILON,
                weight,
                next: 0,
            });
        }
    }
    fst
}

/// Reads a file of phrases, one a line. Returns the phrases that are not empty, each with the number of its line.
///
/// # Errors
/// The file cannot be read, has more than 64 MiB, or a line is no UTF-8.
pub fn read(rxfilename: &str) -> Result<Vec<(usize, String)>> {
    let mut r = KaldiReader::open_raw(rxfilename)?;
    let mut bytes = Vec::new();
    r.by_ref()
        .take(MOST_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| kaldi_io::IoError::Io { name: rxfilename.to_owned(), source })?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Error::ManyPhrases { file: rxfilename.to_owned(), most: MOST_BYTES });
    }
    r.close()?;
    lines(rxfilename, &bytes)
}

/// Splits the text of a file into phrases, as [`read`] does. A byte order mark at the beginning is left out.
///
/// # Errors
/// A line is not UTF-8.
pub fn lines(file: &str, text: &[u8]) -> Result<Vec<(usize, String)>> {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    let mut phrases = Vec::new();
    for (number, line) in (1..).zip(text.split(|&byte| byte == b'\n')) {
        let phrase = std::str::from_utf8(line)
            .map_err(|_| Error::NotText { file: file.to_owned(), line: number })?
            .trim_ascii();
        if !phrase.is_empty() {
            phrases.push((number, phrase.to_owned()));
        }
    }
    Ok(phrases)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(probability: f32) -> f32 {
        -probability.ln()
    }

    #[test]
    fn a_file_of_phrases_without_an_end_is_refused() {
        let error = read("/dev/zero").unwrap_err().to_string();
        assert_eq!(error, "/dev/zero: expected a file of phrases of at most 67108864 bytes, found more");
    }

    #[test]
    fn disambiguation_symbols_are_no_words() {
        let found = ["#0", "#12", "#", "#a", "0", "##1"].map(is_disambiguation);
        assert_eq!(found, [true, true, false, false, false, false]);
    }

    /// Phrases 1 2, 1 and 3: worked out by hand.
    #[test]
    fn probabilities_are_those_of_vosk() {
        let fst = bigrams(&[vec![1, 2], vec![1], vec![3]]);
        let close = |a: f32, b: f32| (a - b).abs() < 1e-6;
        let arcs = |state: usize| -> Vec<(i32, f32, u32)> {
            fst.states[state].arcs.iter().map(|arc| (arc.ilabel, arc.weight, arc.next)).collect()
        };
        // After no word 1 (twice), 2, 3 and three ends of seven events.
        for (found, (word, count, next)) in arcs(0).iter().zip([(1, 2.0, 1), (2, 1.0, 2), (3, 1.0, 3)]) {
            assert!((found.0, found.2) == (word, next) && close(found.1, cost(count / 14.0)), "{found:?}");
        }
        assert!(close(fst.states[0].final_weight, cost(3.0 / 14.0)));
        // After 1 comes 2 or the end.
        let after = arcs(1);
        assert!(after.len() == 2 && close(after[0].1, cost(0.25)) && (after[0].0, after[0].2) == (2, 2));
        assert!(after[1].0 == EPSILON && after[1].2 == 0 && close(after[1].1, cost(0.5)));
        assert!(close(fst.states[1].final_weight, cost(0.25)));
        assert!(close(fst.states[3].final_weight, cost(0.5)) && arcs(3).len() == 1);
    }

    #[test]
    fn lines_have_numbers() {
        let found = lines("f", "\u{feff}one two\r\n\n  [unk] \nü".as_bytes()).unwrap();
        let found: Vec<(usize, &str)> = found.iter().map(|(number, text)| (*number, text.as_str())).collect();
        assert_eq!(found, [(1, "one two"), (3, "[unk]"), (4, "ü")]);
        let error = lines("f", b"one\n\xff\n").unwrap_err().to_string();
        assert_eq!(error, "f, line 2: expected a phrase in UTF-8");
    }
}
