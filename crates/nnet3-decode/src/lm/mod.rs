//! Language models in the ConstArpaLm format: all n-grams in one array; histories point to their longer n-grams
//! (`lm/const-arpa-lm.cc`).

mod arpa;
mod build;
pub mod deterministic;
pub mod rescore;
pub mod rescore_pruned;
mod store;

pub use build::{BuildError, Builder};

/// A back-off language model. Words are numbers.
///
/// The array has an entry for each history, and for each word. An entry holds the logarithms of probability and backoff
/// weight, the number of next words, and these words in order, each with a value. An even value is the log-probability
/// of an n-gram that is no history. An odd positive value is twice the distance to the longer n-gram's entry, plus 1.
/// An odd negative value is twice a position in the list of far entries, plus 1.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstArpa {
    /// The numbers of `<s>` and `</s>`.
    begin: i32,
    end: i32,
    /// The word that replaces unknown words.
    unknown: Option<i32>,
    order: usize,
    states: Vec<i32>,
    /// The places of words, plus 1; 0 for none.
    unigrams: Vec<i64>,
    /// Places too far away for a relative reference, plus 1.
    far: Vec<i64>,
}

/// The continuation after an n-gram's last word.
enum Child {
    Leaf(f32),
    /// A place.
    Inner(usize),
}

impl ConstArpa {
    pub fn begin(&self) -> i32 {
        self.begin
    }

    pub fn end(&self) -> i32 {
        self.end
    }

    /// The length of the longest n-grams.
    pub fn order(&self) -> usize {
        self.order
    }

    fn unigram(&self, word: i32) -> Option<usize> {
        let place = *self.unigrams.get(usize::try_from(word).ok()?)?;
        usize::try_from(place - 1).ok()
    }

    fn known(&self, word: i32) -> i32 {
        match self.unknown {
            Some(unknown) if self.unigram(word).is_none() => unknown,
            _ => word,
        }
    }

    fn float(&self, place: usize) -> f32 {
        f32::from_bits(self.states[place] as u32)
    }

    fn child(&self, place: usize, word: i32) -> Option<Child> {
        let count = self.states[place + 2] as usize;
        let (pairs, _) = self.states[place + 3..place + 3 + 2 * count].as_chunks::<2>();
        let info = pairs[pairs.binary_search_by_key(&word, |pair| pair[0]).ok()?][1];
        Some(self.decode(place, info))
    }

    fn decode(&self, place: usize, info: i32) -> Child {
        match info {
            _ if info % 2 == 0 => Child::Leaf(f32::from_bits(info as u32)),
            _ if info > 1 => Child::Inner(place + (info / 2) as usize),
            _ => Child::Inner((self.far[(-(info / 2)) as usize] - 1) as usize),
        }
    }

    /// The place of a history, if it has next words.
    fn place(&self, words: &[i32]) -> Option<usize> {
        let (first, rest) = words.split_first()?;
        rest.iter().try_fold(self.unigram(*first)?, |place, &word| match self.child(place, word)? {
            Child::Inner(place) => Some(place),
            Child::Leaf(_) => None,
        })
    }

    /// Returns the natural logarithm of the probability of a word after a history; minus infinity if the word is not
    /// known. An existing n-gram is always used.
    pub fn log_prob(&self, history: &[i32], word: i32) -> f32 {
        let kept = history.len().min(self.order - 1);
        let history: Vec<i32> =
            history[history.len() - kept..].iter().map(|&word| self.known(word)).collect();
        self.backed_off(&history, self.known(word))
    }

    fn backed_off(&self, history: &[i32], word: i32) -> f32 {
        let Some((_, shorter)) = history.split_first() else {
            return self.unigram(word).map_or(f32::NEG_INFINITY, |place| self.float(place));
        };
        let Some(place) = self.place(history) else { return self.backed_off(shorter, word) };
        match self.child(place, word) {
            Some(Child::Leaf(log_prob)) => log_prob,
            Some(Child::Inner(child)) => self.float(child),
            None => self.float(place + 1) + self.backed_off(shorter, word),
        }
    }

    /// The history after another word: as much of it as the model tells apart.
    pub fn next_history(&self, history: &[i32], word: i32) -> Vec<i32> {
        let mut words = [history, &[word]].concat();
        while !words.is_empty() && (words.len() >= self.order || !self.goes_on(&words)) {
            words.remove(0);
        }
        words
    }

    fn goes_on(&self, words: &[i32]) -> bool {
        self.place(words).is_some_and(|place| self.states[place + 2] > 0)
    }
}
