//! N-gram language models from sentences: interpolated Kneser-Ney smoothing with one discount for each order (Chen and Goodman,
//! "An empirical study of smoothing techniques for language modeling", 1998, section 2.7).
//!
//! The share of words that were not seen after a history goes to the shorter history. Its counts are numbers of different words
//! before, not of occurrences. The share that single words leave goes to all words of the vocabulary alike.

use std::collections::{BTreeSet, HashMap};

use kaldi_io::KaldiWriter;

use crate::error::{Error, Result};
use crate::plain_text::{self, fields, lines};

const BEGIN: &str = "<s>";
const END: &str = "</s>";
/// Words of tables that are no words of sentences.
const NOT_WORDS: [&str; 4] = ["<eps>", "#0", BEGIN, END];

/// The largest order.
pub const MOST_WORDS: usize = 9;

/// The logarithm of the probability of the begin of a sentence, which is no event.
const NEVER: f64 = 1e-99;

/// Numbers of words, in the order of their names.
type Ngram = Vec<u32>;

/// The words that a model is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vocabulary {
    words: BTreeSet<String>,
}

impl Vocabulary {
    /// Takes words; marks of sentences and `<eps>` are left out.
    pub fn new(words: impl IntoIterator<Item = String>) -> Vocabulary {
        let words = words.into_iter().filter(|word| !NOT_WORDS.contains(&word.as_str())).collect();
        Vocabulary { words }
    }

    /// Reads the first field of each line of a file.
    ///
    /// # Errors
    /// The file cannot be read, or is not UTF-8.
    pub fn read(file: &str) -> Result<Vocabulary> {
        let text = plain_text::read(file)?;
        Ok(Vocabulary::new(lines(&text).filter_map(|(_, line)| Some(fields(line).first()?.to_string()))))
    }

    /// Takes all words of a text, whose lines may begin with a key; returns them with the sentences.
    ///
    /// # Errors
    /// As [`sentences`](Self::sentences): a mark of sentences is no word.
    pub fn of_text(file: &str, has_keys: bool) -> Result<(Vocabulary, Vec<Vec<String>>)> {
        let text = plain_text::read(file)?;
        let words = lines(&text).flat_map(|(_, line)| fields(line).into_iter().skip(usize::from(has_keys)));
        let vocabulary = Vocabulary::new(words.map(str::to_owned));
        let sentences = vocabulary.sentences_in(&text, file, has_keys)?;
        Ok((vocabulary, sentences))
    }

    /// Reads sentences, one a line, maybe behind a key. Empty ones are left out.
    ///
    /// # Errors
    /// A word is not in the vocabulary, or there are no sentences.
    pub fn sentences(&self, file: &str, has_keys: bool) -> Result<Vec<Vec<String>>> {
        self.sentences_in(&plain_text::read(file)?, file, has_keys)
    }

    fn sentences_in(&self, text: &str, file: &str, has_keys: bool) -> Result<Vec<Vec<String>>> {
        let mut sentences = Vec::new();
        for (number, line) in lines(text) {
            let words: Vec<String> =
                fields(line).into_iter().skip(usize::from(has_keys)).map(str::to_owned).collect();
            if let Some(word) = words.iter().find(|word| !self.words.contains(*word)) {
                let hint = plain_text::hint(word, self.words.iter().map(String::as_str));
                return Err(Error::line(
                    file,
                    number,
                    format!("the word '{word}' is not in the vocabulary{hint}"),
                ));
            }
            if !words.is_empty() {
                sentences.push(words);
            }
        }
        match sentences.is_empty() {
            true => Err(Error::file(file, "there are no sentences")),
            false => Ok(sentences),
        }
    }
}

/// A model: what an ARPA file has.
#[derive(Debug, Clone, PartialEq)]
pub struct NgramModel {
    /// Sorted; n-grams have their places.
    words: Vec<String>,
    /// For each order the probabilities of n-grams.
    probabilities: Vec<HashMap<Ngram, f64>>,
    /// The weights of shorter histories after these histories.
    backoff: HashMap<Ngram, f64>,
}

impl NgramModel {
    /// Estimates a model of sentences of the vocabulary's words.
    ///
    /// # Errors
    /// The order is not from 1 to [`MOST_WORDS`], or a word is not in the vocabulary.
    pub fn estimate(sentences: &[Vec<String>], vocabulary: &Vocabulary, order: usize) -> Result<NgramModel> {
        if !(1..=MOST_WORDS).contains(&order) {
            return Err(Error::Options(format!("--order={order}: expected a number from 1 to {MOST_WORDS}")));
        }
        let mut names: BTreeSet<&str> = vocabulary.words.iter().map(String::as_str).collect();
        names.extend([BEGIN, END]);
        let words: Vec<String> = names.into_iter().map(str::to_owned).collect();
        let number =
            |word: &str| words.binary_search_by(|known| known.as_str().cmp(word)).map(|place| place as u32);
        let (Ok(begin), Ok(end)) = (number(BEGIN), number(END)) else { unreachable!("both are words") };
        let mut numbered = Vec::with_capacity(sentences.len());
        for sentence in sentences {
            let mut numbers = vec![begin];
            for word in sentence {
                let known = number(word);
                numbers
                    .push(known.map_err(|_| {
                        Error::Options(format!("the word '{word}' is not in the vocabulary"))
                    })?);
            }
            numbers.push(end);
            numbered.push(numbers);
        }
        let counts = kneser_ney_counts(raw_counts(&numbered, order), begin);
        // All words but the begin of a sentence.
        let floor = 1.0 / (words.len() - 1) as f64;
        let mut model = NgramModel { words, probabilities: Vec::new(), backoff: HashMap::new() };
        for counts in counts {
            model.add_order(&counts, floor);
        }
        let weight = model.backoff.get(&Vec::new()).copied().unwrap_or(1.0);
        for word in (0..model.words.len() as u32).filter(|&word| word != begin) {
            model.probabilities[0].entry(vec![word]).or_insert(weight * floor);
        }
        model.probabilities[0].insert(vec![begin], NEVER);
        Ok(model)
    }

    fn add_order(&mut self, counts: &HashMap<Ngram, u64>, floor: f64) {
        let less = discount(counts);
        let mut histories: HashMap<&[u32], (u64, u64)> = HashMap::new();
        for (ngram, count) in counts {
            let (total, followers) = histories.entry(&ngram[..ngram.len() - 1]).or_default();
            *total += count;
            *followers += 1;
        }
        let weight = |(total, followers): (u64, u64)| less * followers as f64 / total as f64;
        let mut table = HashMap::with_capacity(counts.len());
        for (ngram, &count) in counts {
            let history = histories[&ngram[..ngram.len() - 1]];
            let shorter = match self.probabilities.last() {
                Some(shorter) => shorter.get(&ngram[1..]).copied().unwrap_or(floor),
                None => floor,
            };
            let own = (count as f64 - less) / history.0 as f64;
            table.insert(ngram.clone(), own + weight(history) * shorter);
        }
        self.backoff.extend(histories.into_iter().map(|(history, of)| (history.to_vec(), weight(of))));
        self.probabilities.push(table);
    }

    /// Writes the model in the ARPA format.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_str("\\data\\\n")?;
        for (length, table) in (1..).zip(&self.probabilities) {
            w.write_str(&format!("ngram {length}={}\n", table.len()))?;
        }
        for (length, table) in (1..).zip(&self.probabilities) {
            w.write_str(&format!("\n\\{length}-grams:\n"))?;
            let mut ngrams: Vec<(&Ngram, f64)> = table.iter().map(|(ngram, &p)| (ngram, p)).collect();
            ngrams.sort_unstable_by(|a, b| a.0.cmp(b.0));
            for (ngram, probability) in ngrams {
                let names: Vec<&str> = ngram.iter().map(|&word| self.words[word as usize].as_str()).collect();
                let backoff = self.backoff.get(ngram).filter(|_| length < self.probabilities.len());
                let backoff = backoff.map_or_else(String::new, |weight| format!("\t{:.6}", weight.log10()));
                w.write_str(&format!("{:.6}\t{}{backoff}\n", probability.log10(), names.join(" ")))?;
            }
        }
        Ok(w.write_str("\n\\end\\\n")?)
    }
}

/// Occurrences of n-grams up to an order, for each order. Sentences have their marks.
fn raw_counts(sentences: &[Vec<u32>], order: usize) -> Vec<HashMap<Ngram, u64>> {
    let mut counts = vec![HashMap::new(); order];
    for sentence in sentences {
        for end in 1..sentence.len() {
            for length in 1..=order.min(end + 1) {
                *counts[length - 1].entry(sentence[end + 1 - length..=end].to_vec()).or_default() += 1;
            }
        }
    }
    counts
}

/// The highest order has its occurrences; below, numbers of different words before, or occurrences at the begin of a sentence.
fn kneser_ney_counts(raw: Vec<HashMap<Ngram, u64>>, begin: u32) -> Vec<HashMap<Ngram, u64>> {
    let mut counts: Vec<HashMap<Ngram, u64>> = Vec::with_capacity(raw.len());
    for pair in raw.windows(2) {
        let mut lower: HashMap<Ngram, u64> = HashMap::new();
        pair[1].keys().for_each(|ngram| *lower.entry(ngram[1..].to_vec()).or_default() += 1);
        for (ngram, count) in pair[0].iter().filter(|(ngram, _)| ngram[0] == begin) {
            *lower.entry(ngram.clone()).or_default() += count;
        }
        counts.push(lower);
    }
    counts.extend(raw.into_iter().last());
    counts
}

/// The number that is taken off each count: n₁ / (n₁ + 2 n₂), or a half if one of these is zero.
fn discount(counts: &HashMap<Ngram, u64>) -> f64 {
    let with = |wanted: u64| counts.values().filter(|&&count| count == wanted).count() as f64;
    let (once, twice) = (with(1), with(2));
    if once > 0.0 && twice > 0.0 { once / (once + 2.0 * twice) } else { 0.5 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(order: usize) -> NgramModel {
        let sentence = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let vocabulary = Vocabulary::new(["<eps>", "a", "b", "c", "<s>"].map(str::to_owned));
        NgramModel::estimate(&[sentence("a b a"), sentence("a b"), sentence("b")], &vocabulary, order)
            .unwrap()
    }

    #[test]
    fn probabilities_after_each_history_sum_to_one() {
        let model = model(3);
        let number = |word: &str| model.words.iter().position(|known| known == word).unwrap() as u32;
        let events = ["a", "b", "c", "</s>"].map(number);
        fn probability(model: &NgramModel, ngram: &[u32]) -> f64 {
            match model.probabilities[ngram.len() - 1].get(ngram) {
                Some(&p) => p,
                None => {
                    let weight = model.backoff.get(&ngram[..ngram.len() - 1]).copied().unwrap_or(1.0);
                    weight * probability(model, &ngram[1..])
                }
            }
        }
        for history in [vec![], vec!["a"], vec!["<s>"], vec!["<s>", "a"], vec!["b", "a"]] {
            let history: Vec<u32> = history.into_iter().map(number).collect();
            let with = |&event: &u32| probability(&model, &[&history[..], &[event]].concat());
            let sum: f64 = events.iter().map(with).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{history:?}: {sum}");
        }
    }

    #[test]
    fn an_order_out_of_range_is_an_error() {
        let vocabulary = Vocabulary::new(["a".to_owned()]);
        for order in [0, 10] {
            let error =
                NgramModel::estimate(&[vec!["a".to_owned()]], &vocabulary, order).unwrap_err().to_string();
            assert_eq!(error, format!("--order={order}: expected a number from 1 to 9"));
        }
    }
}
