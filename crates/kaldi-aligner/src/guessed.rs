//! Pronunciations of words that the lexicon lacks, guessed from those that it has.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::path::Path;

use kaldi_corpus::normalise::is_mark;
use kaldi_g2p::cache::learned;
use kaldi_g2p::{Model, SearchOptions, TrainOptions};
use kaldi_io::KaldiWriter;
use kaldi_lang::lexicon::{Entry, Lexicon};
use unicode_normalization::char::is_combining_mark;

use crate::{Error, Result};

/// Pronunciations of a word, at most, and the least probability of those behind the first.
const MOST: usize = 2;
const LEAST_PROBABILITY: f64 = 0.25;
/// A pronunciation with a lower probability deserves a look.
const UNSURE: f64 = 0.5;

/// Guessed pronunciations with the model that they come from.
pub struct Guessed {
    /// Lines for a lexicon.
    pub entries: Vec<Entry>,
    /// Words for whose letters the model has no pronunciation.
    pub without: Vec<String>,
    /// Words whose likeliest pronunciation has a probability below one half, with it, the least sure first.
    pub unsure: Vec<(String, f64)>,
    model: Model,
}

/// A word, as it is and without the signs that are no letters: first without those that no word of the lexicon has, then without
/// any. (Noises have no letters.)
fn spellings(word: &str, known: &BTreeSet<char>) -> Vec<String> {
    let mut out = vec![word.to_owned()];
    if is_mark(word) {
        return out;
    }
    let is_letter = |c: char| c.is_alphanumeric() || is_combining_mark(c);
    let kept: [&dyn Fn(char) -> bool; 2] = [&|c| is_letter(c) || known.contains(&c), &is_letter];
    for keep in kept {
        let spelling: String = word.chars().filter(|&c| keep(c)).collect();
        if !spelling.is_empty() && !out.contains(&spelling) {
            out.push(spelling);
        }
    }
    out
}

/// Guesses pronunciations of words. A word that the model has no letters for is tried without the signs that are no letters. The model is read from `cache` if that has one of this lexicon, and is trained otherwise.
///
/// # Errors
/// The lexicon is too small or too odd to learn from; the cache is no model.
pub fn guess(
    lexicon: &Lexicon,
    words: &[String],
    silences: &[&str],
    cache: &Path,
    threads: NonZero<usize>,
) -> Result<Guessed> {
    let is_word = |entry: &&Entry| !entry.phones.iter().any(|phone| silences.contains(&phone.as_str()));
    let entries = lexicon.entries.iter().filter(is_word).map(|entry| kaldi_g2p::Entry {
        word: entry.word.clone(),
        probability: entry.probability,
        phones: entry.phones.clone(),
    });
    let examples = kaldi_g2p::Lexicon { entries: entries.collect(), ..kaldi_g2p::Lexicon::default() };
    let options = TrainOptions { threads, ..TrainOptions::default() };
    let name = cache.to_str().filter(|_| cache.is_file());
    let model = learned(&examples, &options, name)?.0;
    let wanted =
        SearchOptions { count: MOST, min_probability: LEAST_PROBABILITY, ..SearchOptions::default() };
    let (mut entries, mut without, mut unsure) = (Vec::new(), Vec::new(), Vec::new());
    let known: BTreeSet<char> = lexicon.entries.iter().flat_map(|entry| entry.word.chars()).collect();
    for (word, found) in words.iter().zip(model.pronounce_all(words, &wanted, threads)) {
        let others = spellings(word, &known);
        let found = others[1..].iter().fold(found, |found, spelling| match found {
            Err(error) if error.is_of_word() => model.pronounce_with(spelling, &wanted).map_err(|_| error),
            found => found,
        });
        match found {
            Ok(found) => {
                if let Some(first) = found.first().filter(|first| first.probability < UNSURE) {
                    unsure.push((word.clone(), first.probability));
                }
                entries.extend(found.into_iter().map(|pronunciation| Entry {
                    word: word.clone(),
                    probability: 1.0,
                    silence: None,
                    phones: pronunciation.phones.iter().map(|&phone| phone.to_owned()).collect(),
                }));
            }
            Err(error) if error.is_of_word() => without.push(word.clone()),
            Err(error) => return Err(error.into()),
        }
    }
    entries.retain(|entry| !entry.phones.is_empty());
    unsure.sort_by(|a, b| a.1.total_cmp(&b.1));
    Ok(Guessed { entries, without, unsure, model })
}

impl Guessed {
    /// Keeps the model, and writes the pronunciations as lines of a lexicon, which people can mend and append to their own.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, cache: &Path, file: &Path, with_probabilities: bool) -> Result<()> {
        let name = |path: &Path| {
            path.to_str().map(str::to_owned).ok_or_else(|| Error::file(path, "the name is not UTF-8"))
        };
        self.model.store(&name(cache)?, true)?;
        let mut out = KaldiWriter::create(&name(file)?, false)?;
        for Entry { word, probability, phones, .. } in &self.entries {
            let number = if with_probabilities { format!("{probability:.1} ") } else { String::new() };
            out.write_bytes(format!("{word} {number}{}\n", phones.join(" ")).as_bytes())?;
        }
        Ok(out.finish()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pronunciations_follow_from_those_of_the_lexicon() {
        let words = ["pat", "tap", "apt", "tip", "pit", "api", "tipi", "pati", "ita", "pita"];
        let spelled = |word: &str| word.chars().map(|c| format!("{c}{c}")).collect::<Vec<_>>();
        let entry = |word: &&str| Entry {
            word: (*word).to_owned(),
            probability: 1.0,
            silence: None,
            phones: spelled(word),
        };
        let mut entries: Vec<Entry> = words.iter().map(entry).collect();
        entries.push(Entry { phones: vec!["SPN".to_owned()], ..entry(&"<unk>") });
        let lexicon = Lexicon::new("lexicon", entries);
        let folder = tempfile::tempdir().unwrap();
        let (cache, file) = (folder.path().join("g2p.model"), folder.path().join("guessed.txt"));
        let wanted = ["tapi", "xyz", "tap's", "-ta'pi", "(tap)"].map(str::to_owned);
        let one = NonZero::new(1).unwrap();
        let guess = || guess(&lexicon, &wanted, &["SIL", "SPN"], &cache, one).unwrap();
        let first = guess();
        assert_eq!(first.entries[0].phones, spelled("tapi"));
        // Signs that are no letters do not count; letters that the lexicon lacks, and noises, have no pronunciation.
        assert_eq!(first.without, ["xyz", "tap's", "(tap)"]);
        let of_signs = first.entries.iter().find(|entry| entry.word == "-ta'pi").unwrap();
        assert_eq!(of_signs.phones, first.entries[0].phones);
        assert!(first.unsure.iter().all(|(word, probability)| word.ends_with("pi") && *probability < 0.5));
        first.write(&cache, &file, false).unwrap();
        assert!(std::fs::read_to_string(&file).unwrap().starts_with("tapi tt aa pp ii\n"));
        assert_eq!(guess().entries, first.entries);
    }
}
