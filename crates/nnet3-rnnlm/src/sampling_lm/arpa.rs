//! Language models for sampling from ARPA files.

use kaldi_fst::store::Symbols;
use kaldi_graph::arpa::{ArpaOptions, Event, Ngram, NgramConsumer, UnknownWords, Words, Wrong, read_arpa};
use kaldi_io::KaldiReader;

use super::{SamplingLm, State, States};
use crate::error::{Error, Result};

/// Number of warnings after which the others are left out.
const MOST_WARNINGS: usize = 30;
/// The part from shorter histories may be so many times the whole probability.
const LARGEST_RATIO: f32 = 1.01;
/// Largest distance of the sum of the probabilities after a history from one.
const TOLERANCE: f32 = 0.01;

/// Events while a file is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArpaEvent {
    Reading(Event),
    /// The file is not of the kind that sampling needs.
    Warning(String),
}

/// Numbers of words may be so many times that of the unigrams, and some more.
const SPARSEST: usize = 100;

struct Consumer {
    lm: SamplingLm,
    /// Words beyond this are errors.
    largest: usize,
}

impl NgramConsumer for Consumer {
    fn header(&mut self, counts: &[i32], _: &Words) {
        let unigrams = counts.first().map_or(0, |&count| count.max(0) as usize);
        self.largest = unigrams.saturating_add(SPARSEST).saturating_mul(SPARSEST);
        self.lm.states = vec![States::new(); counts.len().saturating_sub(1)];
    }

    fn ngram(&mut self, ngram: &Ngram, _: bool) -> std::result::Result<(), Wrong> {
        let Some((&word, history)) = ngram.words.split_last() else { return Ok(()) };
        let probability = ngram.log_prob.exp();
        let index = usize::try_from(word).ok().filter(|&word| word > 0 && word <= self.largest);
        let index = index.ok_or_else(|| Wrong::Error(format!("invalid word number {word}")))?;
        if history.is_empty() {
            let unigrams = &mut self.lm.unigrams;
            if unigrams.len() <= index {
                unigrams.resize(index + 1, 0.0);
            }
            if std::mem::replace(&mut unigrams[index], probability) != 0.0 {
                return Err(Wrong::Error(format!("the unigram of word {word} appears twice")));
            }
        } else {
            let state = self.lm.states[history.len() - 1].entry(history.to_vec()).or_default();
            state.words.push((word, probability));
        }
        if ngram.backoff != 0.0
            && let Some(states) = self.lm.states.get_mut(history.len())
        {
            states.entry(ngram.words.clone()).or_default().backoff = ngram.backoff.exp();
        }
        Ok(())
    }
}

impl SamplingLm {
    /// Reads an ARPA file. `begin` and `end` are the numbers of `<s>` and `</s>`.
    ///
    /// # Errors
    /// The file is no ARPA file, a word has no number, or an n-gram comes twice.
    pub fn from_arpa(
        r: &mut KaldiReader,
        symbols: Symbols,
        (begin, end): (i32, i32),
        events: &mut dyn FnMut(ArpaEvent),
    ) -> Result<SamplingLm> {
        let words = Words::Symbols(symbols, UnknownWords::Refuse);
        let mut options = ArpaOptions { words, begin, end, most_warnings: Some(MOST_WARNINGS) };
        let mut consumer = Consumer { lm: SamplingLm::default(), largest: 0 };
        read_arpa(r, &mut options, &mut consumer, &mut |event| events(ArpaEvent::Reading(event)))?;
        let mut lm = consumer.lm;
        if lm.unigrams.is_empty() {
            return Err(Error::data("the ARPA file has no unigrams"));
        }
        for (history, state) in lm.states.iter_mut().flatten() {
            state.words.sort_by_key(|pair| pair.0);
            if let Some(pair) = state.words.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                let word = pair[0].0;
                return Err(Error::data(format!(
                    "the n-gram of word {word} after history {history:?} appears twice"
                )));
            }
        }
        lm.subtract_backoff(&mut |message| events(ArpaEvent::Warning(message)));
        Ok(lm)
    }

    /// Takes the part from shorter histories away, which an ARPA file's probabilities contain: from the longest n-grams on, so
    /// that what is subtracted is whole.
    fn subtract_backoff(&mut self, warn: &mut dyn FnMut(String)) {
        let mut faults = 0usize;
        let mut warn = |message: String| {
            faults += 1;
            match faults {
                ..=MOST_WARNINGS => warn(message),
                _ if faults == MOST_WARNINGS + 1 => warn("More such warnings are left out.".to_owned()),
                _ => {}
            }
        };
        for length in (1..self.order()).rev() {
            let states = std::mem::take(&mut self.states[length - 1]);
            let change = |(history, mut state): (Vec<i32>, State)| {
                let mut total = 0.0;
                for (word, probability) in &mut state.words {
                    let shorter = state.backoff * self.whole_probability(&history[1..], *word);
                    if shorter > LARGEST_RATIO * *probability {
                        warn(format!(
                            "The shorter history's share of the probability of word {word} after history {history:?} is {shorter}, larger than the whole probability {probability}: expected an interpolated language model"
                        ));
                    }
                    *probability -= shorter;
                    total += f64::from(*probability);
                }
                let total = total as f32 + state.backoff;
                if (total - 1.0).abs() > TOLERANCE {
                    warn(format!("The probabilities after history {history:?} sum to {total}, expected 1"));
                }
                (history, state)
            };
            let states = states.into_iter().map(change).collect();
            self.states[length - 1] = states;
        }
    }

    /// p(word | history) where states have whole probabilities, as in an ARPA file.
    fn whole_probability(&self, history: &[i32], word: i32) -> f32 {
        if history.is_empty() {
            return self.probability(history, word);
        }
        let shorter = || self.whole_probability(&history[1..], word);
        match self.state(history) {
            None => shorter(),
            Some(state) => match state.words.binary_search_by_key(&word, |pair| pair.0) {
                Ok(at) => state.words[at].1,
                Err(_) => state.backoff * shorter(),
            },
        }
    }
}
