//! Language models as tables of n-grams with backoff weights, and their ARPA files.
//!
//! The probability of a word w behind a history h is that of the n-gram h w if the model has it. Otherwise it is the backoff
//! weight of h (1 if the model lacks h) times the probability of w behind h without its first word.

use std::f32::consts::LN_10;

use kaldi_fst::store::Symbols;
use kaldi_io::{KaldiReader, KaldiWriter};
use rustc_hash::FxHashMap;

use super::read::{ArpaOptions, Event, Ngram, NgramConsumer, UnknownWords, Words, Wrong, read_arpa};
use crate::error::{Error, Result};

/// The logarithm that ARPA files give to a probability of 0, to the base of 10.
const LEAST: f32 = -99.0;

/// The words of several models, with numbers from 1, and `<s>` and `</s>` among them.
#[derive(Debug)]
pub struct Vocabulary {
    pub(super) symbols: Symbols,
    pub begin: i32,
    pub end: i32,
}

impl Default for Vocabulary {
    fn default() -> Vocabulary {
        let mut symbols = Symbols::new("words");
        symbols.number_or_add("<eps>");
        let (begin, end) = (symbols.number_or_add("<s>") as i32, symbols.number_or_add("</s>") as i32);
        Vocabulary { symbols, begin, end }
    }
}

impl Vocabulary {
    /// Returns the number of a word, which is added if it is new.
    ///
    /// # Errors
    /// There are more words than labels.
    pub fn number(&mut self, word: &str) -> Result<i32> {
        let number = self.symbols.number_or_add(word);
        i32::try_from(number)
            .map_err(|_| Error::mismatch(format!("expected no further word, found '{word}'")))
    }

    pub fn name(&self, word: i32) -> Option<&str> {
        self.symbols.name(i64::from(word))
    }
}

/// The place of an n-gram in a model; 0 is the empty history.
pub(super) type Node = u32;
pub(super) const EMPTY: Node = 0;

/// An n-gram.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Entry {
    /// The n-gram without its last word.
    pub history: Node,
    pub word: i32,
    /// Number of words.
    pub length: usize,
    /// Natural logarithm of the probability; NaN for histories that are no n-grams themselves.
    pub log_prob: f32,
    /// Natural logarithm of the backoff weight.
    pub backoff: f32,
}

/// A language model. N-grams are a tree, from the first word on.
#[derive(Debug, Clone, PartialEq)]
pub struct BackoffModel {
    /// A history and a word behind it.
    longer: FxHashMap<(Node, i32), Node>,
    pub(super) entries: Vec<Entry>,
}

impl Default for BackoffModel {
    fn default() -> BackoffModel {
        let empty = Entry { history: EMPTY, word: 0, length: 0, log_prob: f32::NAN, backoff: 0.0 };
        BackoffModel { longer: FxHashMap::default(), entries: vec![empty] }
    }
}

impl BackoffModel {
    /// Reads an ARPA file. New words are added to the vocabulary.
    ///
    /// # Errors
    /// The file is damaged. The error names the line.
    pub fn from_arpa(
        r: &mut KaldiReader,
        vocabulary: &mut Vocabulary,
        events: &mut dyn FnMut(Event),
    ) -> Result<BackoffModel> {
        let (begin, end) = (vocabulary.begin, vocabulary.end);
        let words = Words::Symbols(std::mem::take(&mut vocabulary.symbols), UnknownWords::Add);
        let mut options = ArpaOptions { words, begin, end, most_warnings: Some(30) };
        let mut model = BackoffModel::default();
        read_arpa(r, &mut options, &mut model, events)?;
        if let Words::Symbols(symbols, _) = options.words {
            vocabulary.symbols = symbols;
        }
        Ok(model)
    }

    /// Number of words in the longest n-grams.
    pub fn order(&self) -> usize {
        self.entries.iter().map(|entry| entry.length).max().unwrap_or(0)
    }

    /// Number of n-grams with a probability.
    pub fn num_ngrams(&self) -> usize {
        self.entries.iter().filter(|entry| !entry.log_prob.is_nan()).count()
    }

    /// Returns the place of a word behind a history, if the model has it.
    pub(super) fn next(&self, history: Node, word: i32) -> Option<Node> {
        self.longer.get(&(history, word)).copied()
    }

    pub(super) fn next_or_add(&mut self, history: Node, word: i32) -> Node {
        let (entries, length) = (&mut self.entries, self.longer.len());
        *self.longer.entry((history, word)).or_insert_with(|| {
            let length_of_history = entries[history as usize].length;
            entries.push(Entry {
                history,
                word,
                length: length_of_history + 1,
                log_prob: f32::NAN,
                backoff: 0.0,
            });
            length as Node + 1
        })
    }

    pub(super) fn node(&self, words: &[i32]) -> Option<Node> {
        words.iter().try_fold(EMPTY, |node, &word| self.next(node, word))
    }

    pub(super) fn node_or_add(&mut self, words: &[i32]) -> Node {
        words.iter().fold(EMPTY, |node, &word| self.next_or_add(node, word))
    }

    /// Writes the words of an n-gram into `words`.
    pub(super) fn words_of(&self, mut node: Node, words: &mut Vec<i32>) {
        words.clear();
        while node != EMPTY {
            words.push(self.entries[node as usize].word);
            node = self.entries[node as usize].history;
        }
        words.reverse();
    }

    /// Returns the natural logarithm of the probability of a word behind a history; `None` if the model lacks the word.
    pub fn log_prob(&self, history: &[i32], word: i32) -> Option<f32> {
        let mut weight = 0.0;
        for first in 0..=history.len() {
            let Some(node) = self.node(&history[first..]) else { continue };
            if let Some(next) = self.next(node, word) {
                let log_prob = self.entries[next as usize].log_prob;
                if !log_prob.is_nan() {
                    return Some(weight + log_prob);
                }
            }
            weight += self.entries[node as usize].backoff;
        }
        None
    }

    /// Writes an ARPA file. N-grams of a length are in the order in which the model got them.
    ///
    /// # Errors
    /// Writing fails, or a word has no name.
    pub fn write_arpa(&self, w: &mut KaldiWriter, vocabulary: &Vocabulary) -> Result<()> {
        let mut by_length: Vec<Vec<Node>> = vec![Vec::new(); self.order() + 1];
        let mut is_history = vec![false; self.entries.len()];
        for (node, entry) in (0..).zip(&self.entries).filter(|(_, entry)| !entry.log_prob.is_nan()) {
            by_length[entry.length].push(node);
            is_history[entry.history as usize] = true;
        }
        w.write_str("\\data\\\n")?;
        for (length, nodes) in by_length.iter().enumerate().skip(1) {
            w.write_str(&format!("ngram {length}={}\n", nodes.len()))?;
        }
        let mut words = Vec::new();
        for (length, nodes) in by_length.iter().enumerate().skip(1) {
            w.write_str(&format!("\n\\{length}-grams:\n"))?;
            for &node in nodes {
                let entry = &self.entries[node as usize];
                self.words_of(node, &mut words);
                let names: Option<Vec<&str>> = words.iter().map(|&word| vocabulary.name(word)).collect();
                let names = names.ok_or_else(|| Error::mismatch("a word of the model has no name"))?;
                // -99 of a file comes back as -99, in spite of the other base in between.
                let decimal = |logarithm: f32| {
                    let decimal = logarithm / LN_10;
                    if decimal < LEAST + 0.001 { LEAST } else { decimal }
                };
                w.write_str(&format!("{:.6}\t{}", decimal(entry.log_prob), names.join(" ")))?;
                if is_history[node as usize] || entry.backoff != 0.0 {
                    w.write_str(&format!("\t{:.6}", decimal(entry.backoff)))?;
                }
                w.write_str("\n")?;
            }
        }
        w.write_str("\n\\end\\\n")?;
        Ok(())
    }
}

impl NgramConsumer for BackoffModel {
    fn header(&mut self, _: &[i32], _: &Words) {}

    fn ngram(&mut self, ngram: &Ngram, _: bool) -> std::result::Result<(), Wrong> {
        let node = self.node_or_add(&ngram.words);
        let entry = &mut self.entries[node as usize];
        entry.log_prob = ngram.log_prob;
        entry.backoff = ngram.backoff;
        Ok(())
    }
}
