//! Pruning of n-grams and of states that are left without words.

use super::States;
use super::counts::{Count, Counts};
use super::estimate::{Estimated, Pruned};
use crate::error::{Error, Result};

/// Weight that a restored n-gram gives to shorter histories, at most, as part of its total.
const LARGEST_DISCOUNT: f32 = 0.5;

/// p(word | history), where `states` has counts after histories of 0, 1, … words. Histories without a state count as if they
/// gave all to the shorter one.
pub(super) fn probability(unigrams: &[f32], states: &[States<Counts>], history: &[i32], word: i32) -> f32 {
    let mut out = unigrams[word as usize];
    for first in (0..history.len()).rev() {
        let history = &history[first..];
        let Some(counts) = states[history.len()].get(history) else { continue };
        out *= counts.backoff / counts.total;
        if let Ok(at) = counts.find(word) {
            out += counts.counts[at].count / counts.total;
        }
    }
    out
}

/// Prunes the words after histories of this length. Shorter histories are pruned already.
pub(super) fn ngrams(estimated: &mut Estimated, length: usize) -> Pruned {
    let Estimated { options, unigrams, states } = estimated;
    let (shorter, rest) = states.split_at_mut(length);
    let (mut before, mut after) = (0, 0);
    for (history, counts) in &mut rest[0] {
        before += counts.counts.len();
        let total = counts.total;
        if length == 1 {
            let is_bos = history[0] == options.bos_symbol;
            let factor = if is_bos { options.bos_factor } else { options.unigram_factor };
            counts.prune(|count| count.count / total > unigrams[count.word as usize] * factor);
        } else {
            counts.prune(|count| {
                let own = count.count / total;
                own > options.unigram_factor * unigrams[count.word as usize]
                    && own
                        > options.backoff_factor * probability(unigrams, shorter, &history[1..], count.word)
            });
        }
        after += counts.counts.len();
    }
    Pruned::Ngrams { order: length + 1, before, after }
}

/// Removes the states of this length that have no words and that no longer one backs off to. With `arpa` each state that stays
/// has an n-gram that leads to it.
pub(super) fn states(estimated: &mut Estimated, length: usize, arpa: bool) -> Result<Pruned> {
    let discount = estimated.options.discounting_constant;
    let (shorter, rest) = estimated.states.split_at_mut(length);
    let (shorter, own) = (&mut shorter[length - 1], &mut rest[0]);
    let before = own.len();
    own.retain(|_, counts| !counts.counts.is_empty() || counts.is_protected);
    let mut restored = 0;
    for (history, counts) in own.iter().filter(|_| length > 1) {
        let missing = |history: &[i32]| {
            Error::data(format!("the counts have no history {history:?}, to which others back off"))
        };
        let next = shorter.get_mut(&history[1..]).ok_or_else(|| missing(&history[1..]))?;
        next.is_protected = true;
        if !arpa {
            continue;
        }
        let (word, previous) = (history[length - 1], &history[..length - 1]);
        let previous = shorter.get_mut(previous).ok_or_else(|| missing(previous))?;
        if let Err(at) = previous.find(word) {
            let count = counts.total - discount.min(LARGEST_DISCOUNT * counts.total);
            previous.backoff -= count;
            previous.counts.insert(at, Count { word, highest: 0.0, count });
            restored += 1;
        }
    }
    Ok(Pruned::States { order: length + 1, before, after: own.len(), restored })
}
