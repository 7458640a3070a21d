//! The n-gram language model from which training draws words.
//!
//! Probabilities are stored without the part that comes from shorter histories:
//! p(w | h) = prob(w in the state of h) + backoff(h) · p(w | h without its oldest word). [`estimate`] makes such a model of text,
//! `arpa` of an ARPA file, and `store` has the format of files.

pub mod arpa;
mod counts;
pub mod estimate;
mod prune;
mod store;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::error::{Error, Result};

/// Words of a history, the oldest first.
pub type History = Vec<i32>;

/// The distribution after one history.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// The weight of the distribution after the history without its oldest word.
    pub backoff: f32,
    /// Words and their probabilities without the part from shorter histories, in the order of the words.
    pub words: Vec<(i32, f32)>,
}

impl Default for State {
    /// A history that the model knows nothing of: all comes from the shorter one.
    fn default() -> State {
        State { backoff: 1.0, words: Vec::new() }
    }
}

/// The states of one length of histories.
pub(crate) type States<S> = BTreeMap<History, S>;

/// A language model for sampling.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SamplingLm {
    /// The probability of each word without any history.
    pub(crate) unigrams: Vec<f32>,
    /// States for histories of 1, 2, … words.
    pub(crate) states: Vec<States<State>>,
}

/// A distribution of words that is not normalised: `unigram_weight` · unigram(w) + weight of w.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    pub unigram_weight: f32,
    /// Words and weights, in the order of the words.
    pub words: Vec<(i32, f32)>,
    /// True if the total is not that of the histories' weights, to 1 %: the model's states do not sum to one.
    pub off: bool,
}

/// The difference of totals, relative to the weight of the histories, that [`Distribution::off`] allows.
const TOLERANCE: f64 = 0.01;

impl SamplingLm {
    /// Length of the longest n-grams: one more than that of the longest histories.
    pub fn order(&self) -> usize {
        self.states.len() + 1
    }

    /// One more than the largest word.
    pub fn vocab_size(&self) -> usize {
        self.unigrams.len()
    }

    /// The probability of each word without any history.
    pub fn unigrams(&self) -> &[f32] {
        &self.unigrams
    }

    /// The state of this history, which is not empty.
    pub fn state(&self, history: &[i32]) -> Option<&State> {
        self.states.get(history.len().checked_sub(1)?)?.get(history)
    }

    /// p(word | history).
    pub fn probability(&self, history: &[i32], word: i32) -> f32 {
        if history.is_empty() {
            return usize::try_from(word)
                .ok()
                .and_then(|word| self.unigrams.get(word))
                .copied()
                .unwrap_or(0.0);
        }
        let shorter = self.probability(&history[1..], word);
        let Some(state) = self.state(history) else { return shorter };
        let own = state.words.binary_search_by_key(&word, |pair| pair.0).map_or(0.0, |at| state.words[at].1);
        own + state.backoff * shorter
    }

    /// The sum of the distributions after these histories, each times its weight.
    ///
    /// # Errors
    /// The states leave no weight to unigrams.
    pub fn distribution(&self, histories: &BTreeMap<History, f32>) -> Result<Distribution> {
        let mut states: BTreeMap<&[i32], f32> = BTreeMap::new();
        let (mut total, mut unigram_weight) = (0.0, 0.0);
        for (history, &weight) in histories {
            total += f64::from(weight);
            let (mut rest, mut weight) = (&history[..], weight);
            while !rest.is_empty() {
                if let Some(state) = self.state(rest) {
                    *states.entry(rest).or_default() += weight;
                    weight *= state.backoff;
                }
                rest = &rest[1..];
            }
            unigram_weight += f64::from(weight);
        }
        let unigram_weight = unigram_weight as f32;
        let mut sum = f64::from(unigram_weight);
        let mut words: FxHashMap<i32, f32> = FxHashMap::default();
        for (history, weight) in states {
            for &(word, probability) in self.state(history).iter().flat_map(|state| &state.words) {
                *words.entry(word).or_default() += probability * weight;
                sum += f64::from(probability * weight);
            }
        }
        let mut words: Vec<(i32, f32)> = words.into_iter().collect();
        words.sort_by_key(|pair| pair.0);
        if unigram_weight <= 0.0 || unigram_weight.is_nan() {
            return Err(Error::data(format!(
                "the language model for sampling gives unigrams the weight {unigram_weight}, expected one above 0"
            )));
        }
        Ok(Distribution { unigram_weight, words, off: (total - sum).abs() > TOLERANCE * total })
    }
}

#[cfg(test)]
mod tests;
