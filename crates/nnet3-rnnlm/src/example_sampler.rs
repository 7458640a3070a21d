//! Importance sampling for minibatches: which words a training step looks at (`RnnlmExampleSampler`).

use std::collections::BTreeMap;

use nnet3_core::Random;

use crate::creator::{EgsEvent, EgsOptions};
use crate::error::{Error, Result};
use crate::example::RnnlmExample;
use crate::sampler::Sampler;
use crate::sampling_lm::{History, SamplingLm};

/// The largest unigram probability that `<s>` may have.
const LARGEST_BOS: f32 = 1e-10;

/// Draws the words of minibatches.
pub struct ExampleSampler {
    options: EgsOptions,
    lm: SamplingLm,
    sampler: Sampler,
}

/// A sampler, or the reason why there is no sampling.
pub enum Sampling {
    Some(Box<ExampleSampler>),
    /// There are only so many words that can be sampled.
    TooFewWords(usize),
    /// `--num-samples=0`.
    None,
}

impl ExampleSampler {
    /// # Errors
    /// An option is out of its range; the model's unigrams do not sum to one, or give `<s>` a probability.
    #[allow(clippy::new_ret_no_self)]
    pub fn new(options: EgsOptions, lm: SamplingLm) -> Result<Sampling> {
        options.check()?;
        let (size, words) = (options.vocab_size, lm.vocab_size());
        if words > size as usize {
            return Err(Error::options(format!("`vocab-size`={size}: the language model has {words} words")));
        }
        let mut unigrams = lm.unigrams().to_vec();
        let (bos, brk) = (options.bos_symbol as usize, options.brk_symbol as usize);
        if bos >= unigrams.len() || brk >= unigrams.len() {
            return Err(Error::options(format!(
                "`bos-symbol`={bos}, `brk-symbol`={brk}: expected words of the language model, below {words}"
            )));
        }
        let sum: f64 = unigrams.iter().map(|&p| f64::from(p)).sum();
        if (sum - 1.0).abs() >= 0.01 {
            return Err(Error::data(format!("the unigrams of the language model sum to {sum}, expected 1")));
        }
        if options.uniform_prob_mass > 0.0 {
            let share = options.uniform_prob_mass / (unigrams.len() - 1) as f32;
            let ordinary = |word: &usize| *word != bos && *word != brk;
            (1..unigrams.len()).filter(ordinary).for_each(|word| unigrams[word] += share);
        }
        if unigrams[bos] >= LARGEST_BOS {
            return Err(Error::data(format!(
                "the language model gives `bos-symbol`={bos} the probability {}, expected 0",
                unigrams[bos]
            )));
        }
        (unigrams[bos], unigrams[brk]) = (options.special_symbol_prob, options.special_symbol_prob);
        let scale = 1.0 / unigrams.iter().map(|&p| f64::from(p)).sum::<f64>();
        let possible = unigrams.iter().filter(|&&p| p != 0.0).count();
        unigrams.iter_mut().for_each(|p| *p = (f64::from(*p) * scale) as f32);
        if options.num_samples == 0 {
            return Ok(Sampling::None);
        }
        if options.num_samples as usize > possible {
            return Ok(Sampling::TooFewWords(possible));
        }
        let sampler = Sampler::new(&unigrams)?;
        Ok(Sampling::Some(Box::new(ExampleSampler { options, lm, sampler })))
    }

    /// Draws a sample for each group of times, and renumbers the words to predict.
    ///
    /// # Errors
    /// The model's weights allow no sample.
    pub fn sample(
        &self,
        example: &mut RnnlmExample,
        random: &Random,
        events: &mut dyn FnMut(EgsEvent),
    ) -> Result<()> {
        example.sample_group_size = self.options.sample_group_size;
        example.num_samples = self.options.num_samples;
        let rows = (example.num_chunks * example.sample_group_size) as usize;
        for first in (0..example.output_words.len()).step_by(rows) {
            let mut must = example.output_words[first..first + rows].to_vec();
            must.sort_unstable();
            must.dedup();
            let histories = self.histories(example, first..first + rows);
            if histories.keys().all(Vec::is_empty) && self.lm.order() > 1 {
                events(EgsEvent::NoHistories);
            }
            let distribution = self.lm.distribution(&histories)?;
            if distribution.off {
                events(EgsEvent::TotalOff);
            }
            let mut sample = self.sampler.sample(
                example.num_samples as usize,
                distribution.unigram_weight,
                &distribution.words,
                &must,
                random,
            )?;
            sample.sort_by_key(|pair| pair.0);
            for word in &mut example.output_words[first..first + rows] {
                let place = sample.binary_search_by_key(word, |pair| pair.0);
                let missing = |_| Error::data(format!("word {word} is not in its sample"));
                *word = place.map_err(missing)? as i32;
            }
            example.sampled_words.extend(sample.iter().map(|pair| pair.0));
            example.sample_inv_probs.extend(sample.iter().map(|pair| (1.0 / f64::from(pair.1)) as f32));
        }
        Ok(())
    }

    /// The histories of the rows with a weight, and the sum of their weights.
    fn histories(&self, example: &RnnlmExample, rows: std::ops::Range<usize>) -> BTreeMap<History, f32> {
        let chunks = example.num_chunks as usize;
        let mut out = BTreeMap::new();
        for row in rows.filter(|&row| example.output_weights[row] > 0.0) {
            // The same sequence at this time and before.
            let back = (0..=row / chunks).map(|steps| example.input_words[row - steps * chunks]);
            let mut history = Vec::with_capacity(self.lm.order() - 1);
            for word in back.take(self.lm.order() - 1) {
                history.push(word);
                if word == self.options.bos_symbol || word == self.options.brk_symbol {
                    break;
                }
            }
            history.reverse();
            *out.entry(history).or_insert(0.0) += example.output_weights[row];
        }
        if out.is_empty() {
            out.insert(Vec::new(), 1.0);
        }
        out
    }
}
