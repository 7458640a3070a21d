//! Making the array from n-grams.

use std::collections::BTreeMap;

use super::ConstArpa;

/// N-grams, shorter ones first.
pub struct Builder {
    begin: i32,
    end: i32,
    unknown: Option<i32>,
    order: usize,
    /// The n-grams by their words. Those of the highest order are kept only as entries of their histories.
    ngrams: BTreeMap<Vec<i32>, Inner>,
}

struct Inner {
    log_prob: f32,
    backoff: f32,
    /// Words with the probabilities of n-grams of the highest order.
    leaves: Vec<(i32, f32)>,
    /// Words of shorter n-grams.
    children: Vec<i32>,
}

impl Inner {
    /// True if it has an entry in the array: words have, longer n-grams only if another n-gram depends on them.
    fn has_place(&self, words: &[i32]) -> bool {
        words.len() == 1 || self.backoff != 0.0 || !self.leaves.is_empty() || !self.children.is_empty()
    }

    fn size(&self) -> usize {
        3 + 2 * (self.leaves.len() + self.children.len())
    }
}

/// Distances up to this are written as such.
const FARTHEST: usize = (1 << 30) - 1;

/// Limit of word numbers: the file has 8 bytes for each number up to the last word's. Below this limit any list of
/// words is valid; above it, every thousandth number must have an n-gram.
const LAST_WORD: i32 = 1 << 24;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    #[error(
        "word number {word} is too large for a language model of {ngrams} n-grams: the file needs an entry for each smaller number"
    )]
    TooLarge { word: i32, ngrams: usize },
    #[error("n-gram {words:?} appears twice")]
    Twice { words: Vec<i32> },
    #[error("n-gram {words:?} has no history: the model lacks the n-gram without its last word")]
    NoHistory { words: Vec<i32> },
    #[error("invalid word number {word}")]
    Word { word: i32 },
    #[error("word {word} for {what} is above the largest word of the language model, {largest}")]
    NoUnigram { what: &'static str, word: i32, largest: i32 },
}

impl Builder {
    /// Makes a builder; the arguments are `<s>`, `</s>`, the word for unknown ones, and the highest order.
    pub fn new(begin: i32, end: i32, unknown: Option<i32>, order: usize) -> Builder {
        Builder { begin, end, unknown, order, ngrams: BTreeMap::new() }
    }

    /// Adds an n-gram; its history must exist. Values are natural logarithms.
    pub fn add(&mut self, words: &[i32], log_prob: f32, backoff: f32) -> Result<(), BuildError> {
        let Some((&word, history)) = words.split_last() else { return Ok(()) };
        if word <= 0 || word == i32::MAX {
            return Err(BuildError::Word { word });
        }
        let is_leaf = words.len() == self.order && self.order > 1;
        if !is_leaf {
            let inner = Inner { log_prob, backoff, leaves: Vec::new(), children: Vec::new() };
            if self.ngrams.insert(words.to_vec(), inner).is_some() {
                return Err(BuildError::Twice { words: words.to_vec() });
            }
        }
        if history.is_empty() {
            return Ok(());
        }
        let parent =
            self.ngrams.get_mut(history).ok_or_else(|| BuildError::NoHistory { words: words.to_vec() })?;
        match is_leaf {
            true => parent.leaves.push((word, log_prob)),
            false => parent.children.push(word),
        }
        Ok(())
    }

    /// Lays the n-grams out, in the order of their words.
    pub fn build(mut self) -> Result<ConstArpa, BuildError> {
        let largest = self.ngrams.keys().filter_map(|words| words.first()).max().copied().unwrap_or(0);
        if largest > LAST_WORD && largest as usize / 1000 > self.ngrams.len() {
            return Err(BuildError::TooLarge { word: largest, ngrams: self.ngrams.len() });
        }
        let special = [("<s>", Some(self.begin)), ("</s>", Some(self.end)), ("unknown words", self.unknown)];
        for (what, word) in special {
            if let Some(word) = word.filter(|&word| word > largest) {
                return Err(BuildError::NoUnigram { what, word, largest });
            }
        }
        let mut places: BTreeMap<&[i32], usize> = BTreeMap::new();
        let mut size = 0;
        for (words, inner) in self.ngrams.iter().filter(|(words, inner)| inner.has_place(words)) {
            places.insert(words, size);
            size += inner.size();
        }
        let mut unigrams = vec![0; largest as usize + 1];
        let (mut states, mut far) = (Vec::with_capacity(size), Vec::new());
        for (words, inner) in &self.ngrams {
            let Some(&place) = places.get(&words[..]) else { continue };
            if let [word] = words[..] {
                unigrams[word as usize] = place as i64 + 1;
            }
            let count = inner.leaves.len() + inner.children.len();
            let float = |value: f32| value.to_bits() as i32;
            states.extend([float(inner.log_prob), float(inner.backoff), count as i32]);
            let leaf = |log_prob: f32| float(log_prob) & !1;
            let mut children: Vec<(i32, i32)> =
                inner.leaves.iter().map(|&(word, log_prob)| (word, leaf(log_prob))).collect();
            let mut sorted = inner.children.clone();
            sorted.sort_unstable();
            for word in sorted {
                let longer = [&words[..], &[word]].concat();
                let info = match places.get(&longer[..]) {
                    None => leaf(self.ngrams[&longer].log_prob),
                    Some(&child) if child - place <= FARTHEST => ((child - place) as i32 * 2) | 1,
                    Some(&child) => {
                        far.push(child as i64 + 1);
                        -(((far.len() as i32 - 1) * 2) | 1)
                    }
                };
                children.push((word, info));
            }
            children.sort_by_key(|&(word, _)| word);
            states.extend(children.into_iter().flat_map(|(word, info)| [word, info]));
        }
        drop(places);
        self.ngrams.clear();
        Ok(ConstArpa {
            begin: self.begin,
            end: self.end,
            unknown: self.unknown,
            order: self.order,
            states,
            unigrams,
            far,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_numbers_of_words() {
        let build = |last: i32| {
            let mut builder = Builder::new(1, 2, None, 1);
            [1, 2, last]
                .iter()
                .try_for_each(|&word| builder.add(&[word], -1.0, 0.0))
                .and_then(|()| builder.build())
        };
        assert_eq!(build(100).map(|lm| lm.unigrams.len()), Ok(101));
        assert_eq!(build(300_000_000), Err(BuildError::TooLarge { word: 300_000_000, ngrams: 3 }));
    }
}
