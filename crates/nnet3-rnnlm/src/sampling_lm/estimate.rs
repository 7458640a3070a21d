//! Estimation of a language model for sampling: counts, discounting, pruning (`rnnlm/sampling-lm-estimate.cc`).
//!
//! With discount D, total count c(h) and the discounted count c'(h, w), p(w | h) = c'(h, w) / c(h) + backoff(h) / c(h) · p(w | h').
//! Here backoff(h) is the sum of all discounts. [`super::prune`] decides which n-grams and states stay.

use std::collections::BTreeMap;
use std::fmt;

use kaldi_fst::store::Symbols;
use kaldi_io::KaldiWriter;

use super::counts::Counts;
use super::{History, SamplingLm, State, States, prune};
use crate::error::{Error, Result};
use crate::text::Sentence;

/// Options of the estimation.
#[derive(Debug, Clone, PartialEq)]
pub struct EstimateOptions {
    /// One more than the largest word.
    pub vocab_size: i32,
    /// The length of the longest n-grams.
    pub ngram_order: i32,
    /// The part of each word's highest weight that goes to shorter histories, above 0 and at most 1.
    pub discounting_constant: f32,
    /// An n-gram stays only if its probability is above this times that of the unigram.
    pub unigram_factor: f32,
    /// An n-gram of order 3 or more stays only if its probability is above this times that after the shorter history.
    pub backoff_factor: f32,
    /// Takes the place of `unigram_factor` for bigrams that begin with `<s>`.
    pub bos_factor: f32,
    /// Unigram probabilities are taken to this power, and normalised.
    pub unigram_power: f32,
    pub bos_symbol: i32,
    pub eos_symbol: i32,
}

impl Default for EstimateOptions {
    fn default() -> EstimateOptions {
        EstimateOptions {
            vocab_size: -1,
            ngram_order: 3,
            discounting_constant: 1.0,
            unigram_factor: 100.0,
            backoff_factor: 2.0,
            bos_factor: 5.0,
            unigram_power: 0.8,
            bos_symbol: 1,
            eos_symbol: 2,
        }
    }
}

/// The largest order of n-grams: files allow no more.
const LARGEST_ORDER: i32 = 99;

impl EstimateOptions {
    /// # Errors
    /// An option is out of its range; the message names it.
    pub fn check(&self) -> Result<()> {
        let words = self.vocab_size;
        let is_word = |word: i32| word > 0 && word < words;
        let (unigram, backoff, bos) = (self.unigram_factor, self.backoff_factor, self.bos_factor);
        let checks: [(&str, f64, bool, String); 9] = [
            ("vocab-size", words.into(), words > 2, "a number above 2".into()),
            (
                "bos-symbol",
                self.bos_symbol.into(),
                is_word(self.bos_symbol),
                format!("a word from 1 to {}", words - 1),
            ),
            (
                "eos-symbol",
                self.eos_symbol.into(),
                is_word(self.eos_symbol) && self.eos_symbol != self.bos_symbol,
                format!("a word from 1 to {} that is not that of `bos-symbol`", words - 1),
            ),
            (
                "ngram-order",
                self.ngram_order.into(),
                (1..=LARGEST_ORDER).contains(&self.ngram_order),
                format!("a number from 1 to {LARGEST_ORDER}"),
            ),
            (
                "discounting-constant",
                self.discounting_constant.into(),
                self.discounting_constant > 0.0 && self.discounting_constant <= 1.0,
                "a number above 0 and at most 1".into(),
            ),
            (
                "unigram-factor",
                unigram.into(),
                unigram > 0.0 && unigram.is_finite(),
                "a number above 0".into(),
            ),
            (
                "backoff-factor",
                backoff.into(),
                backoff > 0.0 && backoff < unigram,
                "a number above 0 and below that of `unigram-factor`".into(),
            ),
            (
                "bos-factor",
                bos.into(),
                bos > 0.0 && bos <= unigram,
                "a number above 0 and at most that of `unigram-factor`".into(),
            ),
            (
                "unigram-power",
                self.unigram_power.into(),
                self.unigram_power > 0.2 && self.unigram_power <= 1.0,
                "a number above 0.2 and at most 1".into(),
            ),
        ];
        for (name, found, is_right, expected) in checks {
            if !is_right {
                let found = kaldi_io::log::num(found);
                return Err(Error::options(format!("`{name}`={found}: expected {expected}")));
            }
        }
        Ok(())
    }
}

/// Result of one step of pruning: the message of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pruned {
    Ngrams {
        order: usize,
        before: usize,
        after: usize,
    },
    /// `restored` n-grams were put back, since an ARPA file needs them.
    States {
        order: usize,
        before: usize,
        after: usize,
        restored: usize,
    },
}

impl fmt::Display for Pruned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Pruned::Ngrams { order, before, after } => {
                write!(f, "For n-gram order {order}, pruned from {before} to {after} ngrams.")
            }
            Pruned::States { order, before, after, restored } => {
                write!(f, "For n-gram order {order}, pruned from {before} to {after} states")?;
                match restored {
                    0 => Ok(()),
                    _ => write!(f, ", and restored {restored} required n-grams."),
                }
            }
        }
    }
}

/// Collects counts of sentences.
pub struct Estimator {
    options: EstimateOptions,
    /// Counts after histories of 0, 1, … words.
    states: Vec<States<Counts>>,
}

/// An estimated model, with counts.
pub struct Estimated {
    pub(super) options: EstimateOptions,
    pub(super) unigrams: Vec<f32>,
    /// Counts after histories of 0, 1, … words.
    pub(super) states: Vec<States<Counts>>,
}

impl Estimator {
    /// # Errors
    /// An option is out of its range.
    pub fn new(options: EstimateOptions) -> Result<Estimator> {
        options.check()?;
        let states = vec![States::new(); options.ngram_order as usize];
        Ok(Estimator { options, states })
    }

    /// Counts the n-grams of a sentence and of its end.
    ///
    /// # Errors
    /// The weight is negative, or a word is out of range.
    pub fn add(&mut self, sentence: &Sentence) -> Result<()> {
        let Sentence { line, weight, words } = sentence;
        if *weight < 0.0 {
            return Err(Error::data(format!(
                "line {line}: expected a weight that is not negative, found {weight}"
            )));
        }
        let last = self.options.vocab_size - 1;
        if let Some(word) = words.iter().find(|&&word| word <= 0 || word > last) {
            return Err(Error::data(format!("line {line}: expected words from 1 to {last}, found {word}")));
        }
        let longest = self.options.ngram_order as usize - 1;
        let mut before = Vec::with_capacity(words.len() + 1);
        before.push(self.options.bos_symbol);
        for &word in words.iter().chain([&self.options.eos_symbol]) {
            let history = &before[before.len().saturating_sub(longest)..];
            let states = &mut self.states[history.len()];
            match states.get_mut(history) {
                Some(counts) => counts.add(word, *weight),
                None => states.entry(history.to_vec()).or_default().add(word, *weight),
            }
            before.push(word);
        }
        Ok(())
    }

    /// Estimates the model. With `arpa`, n-grams that an ARPA file needs stay. `report` is told what pruning does.
    ///
    /// # Errors
    /// There are no counts.
    pub fn estimate(mut self, arpa: bool, report: &mut dyn FnMut(Pruned)) -> Result<Estimated> {
        let order = self.options.ngram_order as usize;
        self.states[order - 1].values_mut().for_each(Counts::merge_waiting);
        for length in (0..order).rev() {
            if length + 1 < order {
                self.sum_longer(length);
            }
            self.states[length].values_mut().for_each(Counts::set_total);
        }
        let unigrams = self.unigrams()?;
        let mut estimated = Estimated { options: self.options, unigrams, states: self.states };
        for length in 1..order {
            for counts in estimated.states[length].values_mut() {
                counts.backoff = counts.discount(estimated.options.discounting_constant) as f32;
            }
            report(prune::ngrams(&mut estimated, length));
        }
        for length in (1..order).rev() {
            report(prune::states(&mut estimated, length, arpa)?);
        }
        take_power(&mut estimated.unigrams, estimated.options.unigram_power);
        Ok(estimated)
    }

    /// Sets the counts after histories of this length to the sums over the histories that are longer by one word. A history
    /// that no longer one extends keeps what was counted for itself.
    fn sum_longer(&mut self, length: usize) {
        let (shorter, longer) = self.states.split_at_mut(length + 1);
        let mut sources: BTreeMap<&[i32], Vec<&Counts>> = BTreeMap::new();
        for (history, counts) in &longer[0] {
            sources.entry(&history[1..]).or_default().push(counts);
        }
        for (history, counts) in sources {
            let own = shorter[length].entry(history.to_vec()).or_default();
            own.set_sum(counts.into_iter());
        }
    }

    /// Discounts the counts without history, and makes probabilities of them.
    fn unigrams(&mut self) -> Result<Vec<f32>> {
        let options = &self.options;
        let nothing = || Error::data("There are no counts (no data processed?)");
        let counts =
            self.states[0].get_mut(&[][..]).filter(|counts| counts.total > 0.0).ok_or_else(nothing)?;
        let discounted = counts.discount(options.discounting_constant);
        counts.backoff = discounted as f32;
        let total = counts.total;
        // All words but 0 and <s>.
        let share = (discounted / f64::from(total) / f64::from(options.vocab_size - 2)) as f32;
        let mut unigrams = vec![share; options.vocab_size as usize];
        (unigrams[0], unigrams[options.bos_symbol as usize]) = (0.0, 0.0);
        counts.counts.iter().for_each(|count| unigrams[count.word as usize] += count.count / total);
        Ok(unigrams)
    }
}

/// Takes probabilities to a power and normalises them.
fn take_power(unigrams: &mut [f32], power: f32) {
    if power == 1.0 {
        return;
    }
    unigrams.iter_mut().for_each(|p| *p = p.powf(power));
    let sum: f64 = unigrams.iter().map(|&p| f64::from(p)).sum();
    let scale = (1.0 / sum) as f32;
    unigrams.iter_mut().for_each(|p| *p *= scale);
}

impl Estimated {
    /// p(word | history); shorter histories that the model has are those of pruned states.
    pub(super) fn probability(&self, history: &[i32], word: i32) -> f32 {
        prune::probability(&self.unigrams, &self.states, history, word)
    }

    /// Writes an ARPA file: logarithms to base 10 with three decimals.
    ///
    /// # Errors
    /// A word has no name.
    pub fn write_arpa(&self, w: &mut KaldiWriter, symbols: &Symbols) -> Result<()> {
        let name = |word: i32| {
            let missing = || Error::data(format!("the symbol table has no name for word {word}"));
            symbols.name(word.into()).ok_or_else(missing)
        };
        let last = self.options.vocab_size - 1;
        w.write_str(&format!("\\data\\\nngram 1={last}\n"))?;
        for (length, states) in self.states.iter().enumerate().skip(1) {
            let ngrams: usize = states.values().map(|counts| counts.counts.len()).sum();
            w.write_str(&format!("ngram {}={ngrams}\n", length + 1))?;
        }
        w.write_str("\n\\1-grams:\n")?;
        for word in 1..=last {
            let unigram = self.unigrams[word as usize];
            let log = if word == self.options.bos_symbol { -99.0 } else { unigram.log10() };
            let end = self.arpa_backoff(&[], word);
            w.write_str(&format!("{log:.3}\t{}{end}\n", name(word)?))?;
        }
        for (length, states) in self.states.iter().enumerate().skip(1) {
            w.write_str(&format!("\n\\{}-grams:\n", length + 1))?;
            for (history, counts) in states {
                let names: Vec<&str> = history.iter().map(|&word| name(word)).collect::<Result<_>>()?;
                for count in &counts.counts {
                    let shorter = self.probability(&history[1..], count.word);
                    let log = ((count.count + counts.backoff * shorter) / counts.total).log10();
                    let (names, word) = (names.join(" "), name(count.word)?);
                    let end = self.arpa_backoff(history, count.word);
                    w.write_str(&format!("{log:.3}\t{names} {word}{end}\n"))?;
                }
            }
        }
        Ok(w.write_str("\n\\end\\\n")?)
    }

    /// The column with the weight of shorter histories after this n-gram; nothing if there is no such state.
    fn arpa_backoff(&self, history: &[i32], word: i32) -> String {
        let ngram: History = history.iter().copied().chain([word]).collect();
        let state = self.states.get(ngram.len()).and_then(|states| states.get(&ngram));
        match state.map(|counts| counts.backoff / counts.total).filter(|&backoff| backoff != 0.0) {
            Some(backoff) => format!("\t{:.3}", backoff.log10()),
            None => String::new(),
        }
    }
}

impl From<&Estimated> for SamplingLm {
    fn from(estimated: &Estimated) -> SamplingLm {
        let state = |counts: &Counts| {
            let inverse = 1.0 / counts.total;
            let words = counts.counts.iter().map(|count| (count.word, inverse * count.count)).collect();
            State { backoff: counts.backoff * inverse, words }
        };
        let of_length = |states: &States<Counts>| {
            states.iter().map(|(history, counts)| (history.clone(), state(counts))).collect()
        };
        SamplingLm {
            unigrams: estimated.unigrams.clone(),
            states: estimated.states.iter().skip(1).map(of_length).collect(),
        }
    }
}
