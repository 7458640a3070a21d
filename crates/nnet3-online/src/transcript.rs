//! Results of recognition.

use std::fmt;
use std::ops::Range;

use nnet3_decode::CompactLattice;

use crate::voices::Voices;

/// A word of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Word {
    /// The word as the model writes it.
    pub text: String,
    /// Begin and end, in seconds from the beginning of the sound.
    pub start: f64,
    /// The end, in seconds from the beginning of the sound.
    pub end: f64,
    /// The posterior probability of the word, from 0 to 1.
    pub confidence: f32,
}

/// A possible text of a sentence.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Alternative {
    /// Its words; the confidence of each is the probability of the text.
    pub words: Vec<Word>,
    /// The log-likelihood of its best path: minus the sum of acoustic costs, as scaled for the search, and graph costs times
    /// [`graph_scale`](crate::RecognizerOptions::graph_scale). vosk calls it confidence.
    pub log_likelihood: f64,
    /// The posterior probability of this path among all paths within the lattice beam, from 0 to 1.
    pub probability: f32,
}

impl Alternative {
    /// The words with a blank between them.
    pub fn text(&self) -> String {
        text(&self.words)
    }
}

/// The words of one sentence: from a pause to the next one.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    /// The words with the least expected number of errors.
    pub words: Vec<Word>,
    /// The beginning, in seconds from the beginning of the sound.
    pub start: f64,
    /// Output frames of the network. If there are none, the sound was too short for one.
    pub frames: usize,
    /// The sequences of words within the lattice beam, with acoustic costs as scaled for the search. `None` unless
    /// [`keep_lattice`](crate::RecognizerOptions::keep_lattice) asks for it, and if no path was left.
    pub lattice: Option<CompactLattice>,
    /// The time of the lattice's first frame, in seconds from the beginning of the sound: below 0 if
    /// [silence](crate::RecognizerOptions::edge_silence) was put before the sound.
    pub lattice_start: f64,
    /// The likeliest texts within the lattice beam, the likeliest first, if
    /// [`alternatives`](crate::RecognizerOptions::alternatives) asks for them. Empty if no path was left.
    pub alternatives: Vec<Alternative>,
    /// The vectors of its speakers, if the recogniser has a speaker model.
    pub voices: Option<Voices>,
    /// Faults of the sentence.
    pub warnings: Vec<Warning>,
}

impl Transcript {
    /// The words with a blank between them.
    pub fn text(&self) -> String {
        text(&self.words)
    }

    /// Keeps the words that satisfy `keep`, and the voices that speak them. Alternatives keep all words.
    pub fn retain(&mut self, keep: impl Fn(&Word) -> bool) {
        let is_kept: Vec<bool> = self.words.iter().map(keep).collect();
        let kept_before = |position: usize| is_kept[..position].iter().filter(|&&kept| kept).count();
        if let Some(voices) = &mut self.voices {
            for phrase in &mut voices.phrases {
                let Range { start, end } = phrase.words;
                phrase.words = kept_before(start)..kept_before(end);
            }
            voices.phrases.retain(|phrase| !phrase.words.is_empty());
        }
        let mut is_kept = is_kept.iter();
        self.words.retain(|_| is_kept.next().is_some_and(|kept| *kept));
    }

    /// Puts a text in the place of the [word for anything unknown](is_unknown), also in alternatives. An empty text leaves it out.
    pub fn replace_unknown(&mut self, text: &str) {
        let alternatives = self.alternatives.iter_mut().map(|alternative| &mut alternative.words);
        let words = std::iter::once(&mut self.words).chain(alternatives).flatten();
        words.filter(|word| is_unknown(&word.text)).for_each(|word| text.clone_into(&mut word.text));
        if text.is_empty() {
            self.retain(|word| !word.text.is_empty());
            for alternative in &mut self.alternatives {
                alternative.words.retain(|word| !word.text.is_empty());
            }
        }
    }
}

/// The names that models give the word for anything that is not in their vocabulary.
pub(crate) const UNKNOWN: [&str; 3] = ["[unk]", "<unk>", "<UNK>"];

/// True of `[unk]`, `<unk>` and `<UNK>`: the word of many models for sounds that are no word of their vocabulary.
pub fn is_unknown(word: &str) -> bool {
    UNKNOWN.contains(&word)
}

/// Returns the words with a blank between them.
pub fn text(words: &[Word]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

/// A fault of a sentence that is transcribed nevertheless. Times are in seconds from the beginning of the sound.
#[allow(missing_docs)] // The comment of a variant explains its fields.
#[derive(Debug, Clone, PartialEq)]
pub enum Warning {
    /// The search lost all paths, so the sentence has no words.
    NoPath { start: f64 },
    /// The alternatives' words do not fit the phones of the lattice, so their times are those of the search.
    UnalignedAlternatives { start: f64, cause: String },
    /// The words do not fit the phones of the lattice, so their times are those of the search.
    Unaligned { start: f64, cause: String },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // (Silence may lie before the sound.)
        let (Warning::NoPath { start }
        | Warning::UnalignedAlternatives { start, .. }
        | Warning::Unaligned { start, .. }) = self;
        let start = start.max(0.0);
        match self {
            Warning::NoPath { .. } => write!(f, "no path was left from {start:.2} s on"),
            Warning::UnalignedAlternatives { cause, .. } => write!(
                f,
                "alternatives from {start:.2} s on cannot be aligned with the sound ({cause}): their times are less exact"
            ),
            Warning::Unaligned { cause, .. } => write!(
                f,
                "words from {start:.2} s on cannot be aligned with the sound ({cause}): their times are those of the \
                 search, which are less exact"
            ),
        }
    }
}
