//! Sampling of words without replacement, each with an inclusion probability of its own (`rnnlm/sampler.cc`).
//!
//! The distribution is p(w) = U · unigram(w) + weight(w), not normalised. The inclusion probability of a word is q(w) = min(1, α
//! p(w)), with α such that the q sum to the number of samples. Words without a weight of their own stay in ranges of the unigram
//! distribution. A range is sampled with its total probability, and the sample is then one word of it. A range that would have
//! more than one sample is cut in half. One random number for the whole sample (systematic sampling) chooses words and ranges, in
//! the order in which they lie in a heap.

use nnet3_core::Random;

use crate::error::{Error, Result};
use crate::heap::Heap;

/// Largest distance of the sum of unigram probabilities from one.
const TOLERANCE: f64 = 0.01;
/// Largest distance of the sum of inclusion probabilities from the number of samples.
const ROUNDING: f64 = 1e-4;
/// Weight of a word that must be in the sample, over the least one with which it is.
const RESERVE: f64 = 1.1;
/// A sample of the wrong size, by rounding at the ends, is drawn so many times again.
const MOST_TRIALS: usize = 10;

/// Draws words from sums of a unigram distribution and of weights.
#[derive(Debug, Clone)]
pub struct Sampler {
    /// The sum of the probabilities of all words before each one; one more than there are words.
    cumulative: Vec<f64>,
}

/// A word, or a range of words by their unigram probabilities.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Interval {
    probability: f64,
    first: usize,
    end: usize,
}

/// A word of a sample and the probability with which it gets into samples.
pub type Sampled = (i32, f32);

impl Sampler {
    /// # Errors
    /// The probabilities do not sum to one.
    pub fn new(unigrams: &[f32]) -> Result<Sampler> {
        let total: f64 = unigrams.iter().map(|&p| f64::from(p)).sum();
        let is_wrong = |&p: &f32| !p.is_finite() || p < 0.0;
        if (total - 1.0).abs() >= TOLERANCE || total.is_nan() || unigrams.iter().any(is_wrong) {
            return Err(Error::data(format!("unigram probabilities sum to {total}, expected 1")));
        }
        let (mut sum, inverse) = (0.0, 1.0 / total);
        let mut cumulative = vec![0.0];
        cumulative.extend(unigrams.iter().map(|&p| {
            sum += f64::from(p);
            sum * inverse
        }));
        Ok(Sampler { cumulative })
    }

    /// Draws `count` words from unigram_weight · unigram + weights; `weights` and `must` are in the order of the words. The words of
    /// `must` are all in the sample.
    ///
    /// # Errors
    /// There are not more words than samples, or not more samples than words that must be among them; a weight is not above 0.
    pub fn sample(
        &self,
        count: usize,
        unigram_weight: f32,
        weights: &[(i32, f32)],
        must: &[i32],
        random: &Random,
    ) -> Result<Vec<Sampled>> {
        let words = self.cumulative.len() - 1;
        if count == 0 || count >= words {
            return Err(Error::data(format!("{count} samples of {words} words")));
        }
        if must.len() >= count {
            let must = must.len();
            return Err(Error::data(format!(
                "{count} samples, which must have {must} words and others among them"
            )));
        }
        let outside = |word: i32| usize::try_from(word).is_ok_and(|word| word >= words) || word < 0;
        if let Some(&word) = weights.iter().map(|pair| &pair.0).chain(must).find(|&&word| outside(word)) {
            return Err(Error::data(format!("word {word} of a sample of {words} words")));
        }
        let existing = f64::from(unigram_weight)
            + weights.iter().map(|pair| f64::from(pair.1)).sum::<f64>() as f32 as f64;
        let existing = existing as f32;
        let more = (RESERVE * f64::from(existing) / (count - must.len()) as f64) as f32;
        let weights = merge(weights, must, more);
        let (intervals, total) = self.intervals(unigram_weight, &weights)?;
        let intervals = self.normalize(count, total, intervals);
        self.draw(&intervals, count, random)
    }

    /// Words with weights, and the ranges between them, with their probabilities and the sum of these.
    fn intervals(&self, unigram_weight: f32, weights: &[(i32, f32)]) -> Result<(Vec<Interval>, f64)> {
        let cumulative = &self.cumulative;
        let between =
            |first: usize, end: usize| f64::from(unigram_weight) * (cumulative[end] - cumulative[first]);
        let mut out = Vec::with_capacity(2 * weights.len() + 1);
        let (mut total, mut first) = (0.0, 0);
        let mut add = |probability: f64, first: usize, end: usize| {
            total += probability;
            out.push(Interval { probability, first, end });
        };
        for &(word, weight) in weights {
            let word = word as usize;
            if between(first, word) > 0.0 {
                add(between(first, word), first, word);
            }
            let probability = f64::from(weight) + between(word, word + 1);
            if probability <= 0.0 || !probability.is_finite() {
                return Err(Error::data(format!(
                    "the language model for sampling gives word {word} the weight {probability}, expected a weight above 0"
                )));
            }
            add(probability, word, word + 1);
            first = word + 1;
        }
        let last = cumulative.len() - 1;
        if between(first, last) > 0.0 {
            add(between(first, last), first, last);
        }
        Ok((out, total))
    }

    /// Makes inclusion probabilities that sum to `count`, none above one; cuts ranges.
    fn normalize(&self, count: usize, total: f64, intervals: Vec<Interval>) -> Vec<Interval> {
        let mut alpha = count as f64 / total;
        let (mut ones, mut rest) = (Vec::new(), total);
        let mut heap = Heap::new(intervals, |a: &Interval, b: &Interval| a.probability < b.probability);
        while let Some(top) = heap.peek().copied().filter(|top| alpha * top.probability >= 1.0) {
            heap.pop();
            if top.end - top.first == 1 {
                rest -= top.probability;
                ones.push(Interval { probability: 1.0, ..top });
                alpha = (count - ones.len().min(count)) as f64 / rest;
                continue;
            }
            let middle = top.first + (top.end - top.first) / 2;
            let sum = self.cumulative[top.end] - self.cumulative[top.first];
            let first_half = self.cumulative[middle] - self.cumulative[top.first];
            let second_half = sum - first_half;
            for (part, first, end) in [(first_half, top.first, middle), (second_half, middle, top.end)] {
                if part > 0.0 {
                    heap.push(Interval { probability: top.probability * part / sum, first, end });
                }
            }
        }
        let below_one = heap.into_items().into_iter();
        ones.extend(
            below_one.map(|interval| Interval { probability: alpha * interval.probability, ..interval }),
        );
        ones
    }

    fn draw(&self, intervals: &[Interval], count: usize, random: &Random) -> Result<Vec<Sampled>> {
        let mut chosen = Vec::with_capacity(count);
        for _ in 0..MOST_TRIALS {
            chosen.clear();
            let start = f64::from(random.uniform());
            let mut counter = -start;
            for interval in intervals {
                counter += interval.probability;
                if counter >= 0.0 {
                    chosen.push(interval);
                    counter -= 1.0;
                }
            }
            let total = counter + chosen.len() as f64 + start;
            if (total - count as f64).abs() > ROUNDING || total.is_nan() {
                break;
            }
            if chosen.len() == count {
                return Ok(chosen.into_iter().map(|interval| self.word_of(interval, random)).collect());
            }
        }
        Err(Error::data(format!("the probabilities of the words do not allow a sample of {count}")))
    }

    /// A word of an interval, with its probability.
    fn word_of(&self, interval: &Interval, random: &Random) -> Sampled {
        let &Interval { probability, first, end } = interval;
        if end == first + 1 {
            return (first as i32, probability as f32);
        }
        let cumulative = &self.cumulative[first..=end];
        let (low, high) = (cumulative[0], cumulative[cumulative.len() - 1]);
        let mut at = low + (high - low) * f64::from(random.uniform());
        if at >= high {
            at = low;
        }
        let word = cumulative[1..].partition_point(|&sum| sum <= at);
        let share = cumulative[word + 1] - cumulative[word];
        ((first + word) as i32, (probability * share / (high - low)) as f32)
    }
}

/// The weights, with `more` added to the words of `must`.
fn merge(weights: &[(i32, f32)], must: &[i32], more: f32) -> Vec<(i32, f32)> {
    let mut out: Vec<(i32, f32)> =
        weights.iter().copied().chain(must.iter().map(|&word| (word, more))).collect();
    out.sort_by_key(|pair| pair.0);
    out.dedup_by(|next, kept| {
        let equal = next.0 == kept.0;
        if equal {
            kept.1 += next.1;
        }
        equal
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unigrams(count: usize) -> Vec<f32> {
        let raw: Vec<f32> = (0..count).map(|word| if word == 0 { 0.0 } else { 1.0 / word as f32 }).collect();
        let sum: f32 = raw.iter().sum();
        raw.iter().map(|p| p / sum).collect()
    }

    /// The probability that a word gets into a sample is min(1, α p(w)): solved here by bisection. Words come that often.
    #[test]
    fn words_come_as_often_as_they_should() {
        const COUNT: usize = 12;
        const DRAWS: usize = 20_000;
        let unigrams = unigrams(60);
        let sampler = Sampler::new(&unigrams).unwrap();
        let (unigram_weight, weights, must) = (2.0, [(3, 0.5), (7, 4.0), (40, 0.25)], [5, 40]);
        let total = 2.0 + 4.75;
        let mut p: Vec<f64> = unigrams.iter().map(|&u| 2.0 * f64::from(u)).collect();
        weights.iter().for_each(|&(word, weight)| p[word as usize] += f64::from(weight));
        must.iter().for_each(|&word| p[word as usize] += 1.1 * total / (COUNT - 2) as f64);
        let (mut low, mut high) = (0.0, 1e6);
        for _ in 0..200 {
            let alpha = (low + high) / 2.0;
            let sum: f64 = p.iter().map(|p| (alpha * p).min(1.0)).sum();
            if sum < COUNT as f64 { low = alpha } else { high = alpha }
        }
        let expected: Vec<f64> = p.iter().map(|p| (low * p).min(1.0)).collect();
        assert!(must.iter().all(|&word| expected[word as usize] == 1.0));

        let random = Random::new(3);
        let mut seen = vec![0usize; p.len()];
        for _ in 0..DRAWS {
            let sample = sampler.sample(COUNT, unigram_weight, &weights, &must, &random).unwrap();
            assert_eq!(sample.len(), COUNT);
            for (word, probability) in sample {
                seen[word as usize] += 1;
                assert!((f64::from(probability) - expected[word as usize]).abs() < 1e-6, "word {word}");
            }
        }
        for (word, (&seen, q)) in seen.iter().zip(&expected).enumerate() {
            let deviation = (q * (1.0 - q) / DRAWS as f64).sqrt();
            let found = seen as f64 / DRAWS as f64;
            assert!((found - q).abs() <= 5.0 * deviation + 1e-9, "word {word}: {found} for {q}");
        }
    }

    #[test]
    fn no_word_twice() {
        let sampler = Sampler::new(&unigrams(30)).unwrap();
        let random = Random::new(1);
        for count in 1..29 {
            let sample = sampler.sample(count, 1.0, &[(2, 1.0)], &[], &random).unwrap();
            let words: std::collections::BTreeSet<i32> = sample.iter().map(|pair| pair.0).collect();
            assert_eq!((words.len(), words.contains(&0)), (count, false));
        }
    }

    #[test]
    fn wrong_samples() {
        assert!(Sampler::new(&[0.5, 0.4]).is_err() && Sampler::new(&[f32::NAN]).is_err());
        let sampler = Sampler::new(&unigrams(10)).unwrap();
        let random = Random::new(1);
        let error = |count, weights: &[(i32, f32)], must: &[i32]| {
            sampler.sample(count, 1.0, weights, must, &random).unwrap_err().to_string()
        };
        assert_eq!(error(10, &[], &[]), "10 samples of 10 words");
        assert_eq!(error(0, &[], &[]), "0 samples of 10 words");
        assert!(error(2, &[], &[1, 2]).contains("must have 2 words"));
        assert!(error(2, &[(10, 1.0)], &[]).contains("word 10"));
        assert!(error(2, &[], &[-1]).contains("word -1"));
        assert!(error(2, &[(4, -9.0)], &[]).contains("word 4 the weight -8."));
    }
}
