//! Phrases, and words that the vocabulary lacks by their sounds.

use std::num::NonZero;

use anyhow::{Context, Result, bail};
use kaldi_fst::{Algebra, Arc, Fst, ops};
use kaldi_g2p::{SearchOptions, TrainOptions, cache};
use kaldi_io::KaldiReader;
use kaldi_kws::sounds::{KnownSounds, SoundCosts};
use nnet3::messages;
use nnet3::tables::{self, Outcome};
use nnet3_online::Model;
use nnet3_online::lexicon::Lexicon;

/// Pronunciations of an unknown word, at most, and the least share of one.
const PRONUNCIATIONS: usize = 5;
const LEAST_SHARE: f64 = 0.02;

/// A phrase.
pub struct Phrase {
    pub text: String,
    /// The acceptor of its words.
    pub words: Fst,
    /// True if it has words that the vocabulary lacks.
    pub is_by_sounds: bool,
}

/// The way to unknown words: the folder of the model, and a number of threads. Without it they are errors.
pub type Sounds<'f> = Option<(&'f str, NonZero<usize>)>;

/// Makes acceptors of phrases with commas between them. A word that the model has with other capitals alone counts as that one,
/// with a note. A phrase with a word that the model lacks is left out with a warning, unless the word is searched by its sounds.
/// Fails if no phrase is left.
pub fn read(model: &Model, list: &str, sounds: Sounds) -> Result<Vec<Phrase>> {
    let given = list.split(',').map(str::trim).filter(|phrase| !phrase.is_empty()).collect::<Vec<_>>();
    if given.is_empty() {
        bail!("expected words or phrases with commas between them, found '{list}'");
    }
    let mut reader = Reader { model, sounds, lexicon: None };
    let (mut all, mut faults) = (Vec::new(), Vec::new());
    for phrase in &given {
        match reader.phrase(phrase)? {
            Ok(phrase) => all.push(phrase),
            Err(skip) => faults.push(skip.sentence(phrase)),
        }
    }
    if all.is_empty() {
        bail!("{}", faults.join("; "));
    }
    faults.iter().for_each(|fault| messages::warn(&format!("{fault}; this phrase is not searched")));
    Ok(all)
}

/// Reads phrases.
struct Reader<'r> {
    model: &'r Model,
    sounds: Sounds<'r>,
    /// Read when the first unknown word needs it.
    lexicon: Option<Spoken>,
}

impl Reader<'_> {
    /// The acceptor of a phrase, or the reason why it cannot be searched.
    fn phrase(&mut self, phrase: &str) -> Result<Outcome<Phrase>> {
        let mut parts = Vec::new();
        let mut is_by_sounds = false;
        for word in phrase.split_whitespace() {
            if let Some(number) = self.model.word_number(word) {
                parts.push(one_of(&[number]));
                continue;
            }
            let alike = self.model.words_alike(word);
            if !alike.is_empty() {
                let names: Vec<&str> = alike.iter().map(|(_, name)| *name).collect();
                messages::warn(&format!("'{word}' is searched as '{}'", names.join("', '")));
                let numbers: Vec<i32> = alike.iter().map(|(number, _)| *number).collect();
                parts.push(one_of(&numbers));
                continue;
            }
            let Some((folder, threads)) = self.sounds else {
                return tables::skip_as(format!(
                    "the vocabulary of the model lacks the word '{word}' (--sounds=true searches for its sounds)"
                ));
            };
            if self.lexicon.is_none() {
                self.lexicon = Some(Spoken::read(self.model, folder, threads)?);
            }
            let lexicon = self.lexicon.as_ref().context("a lexicon")?;
            parts.push(lexicon.alike(word).with_context(|| format!("the word '{word}'"))?);
            is_by_sounds = true;
        }
        let mut words = ops::concatenate(&parts);
        ops::remove_epsilons(&mut words)?;
        let text = phrase.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Ok(Phrase { text, words, is_by_sounds }))
    }
}

/// The acceptor of one of these words.
fn one_of(numbers: &[i32]) -> Fst {
    let mut words = Fst::default();
    words.start = Some(words.add_state());
    let next = words.add_state();
    for &number in numbers {
        words.states[0].arcs.push(Arc { ilabel: number, olabel: number, weight: Algebra::one(), next });
    }
    words.states[1].final_weight = Algebra::one();
    words
}

/// The lexicon of a model, and what it says about letters.
struct Spoken {
    known: KnownSounds,
    letters: kaldi_g2p::Model,
}

impl Spoken {
    fn read(model: &Model, folder: &str, threads: NonZero<usize>) -> Result<Spoken> {
        let lexicon = Lexicon::read(folder, false)?;
        let lines: String =
            lexicon.entries.iter().map(|(word, phones)| format!("{word} {}\n", phones.join(" "))).collect();
        // (Symbols that are no words are left out.)
        let mut lines = KaldiReader::from_bytes(format!("the lexicon of {folder}"), lines.into_bytes());
        let lexicon = kaldi_g2p::Lexicon::read(&mut lines, true)?;
        let entries = lexicon.entries.iter();
        let entries = entries.filter_map(|entry| Some((model.word_number(&entry.word)?, &entry.phones[..])));
        let known = KnownSounds::new(entries, SoundCosts::default());
        let mut training = TrainOptions { threads, ..TrainOptions::default() };
        training.align.threads = threads;
        let (letters, _) = cache::learned(&lexicon, &training, None)?;
        Ok(Spoken { known, letters })
    }

    /// The known words that sound like this one.
    fn alike(&self, word: &str) -> Result<Fst> {
        let limits =
            SearchOptions { count: PRONUNCIATIONS, min_probability: LEAST_SHARE, ..SearchOptions::default() };
        let found = self.letters.pronounce_with(word, &limits)?;
        let found: Vec<(f64, Vec<&str>)> =
            found.into_iter().map(|one| (one.probability, one.phones)).collect();
        Ok(self.known.alike(&found)?)
    }
}
