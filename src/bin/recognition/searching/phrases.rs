//! Phrases, and words that the vocabulary lacks by their sounds.

use std::num::NonZero;

use anyhow::{Context, Result, bail};
use kaldi_fst::{Arc, Fst, Weight, ops};
use kaldi_g2p::{SearchOptions, TrainOptions, cache};
use kaldi_io::KaldiReader;
use kaldi_kws::sounds::{KnownSounds, SoundCosts};
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

/// Makes acceptors of phrases with commas between them. Fails if a word is not one of the model, unless it is searched by its
/// sounds.
pub fn read(model: &Model, list: &str, sounds: Sounds) -> Result<Vec<Phrase>> {
    let mut all = Vec::new();
    let mut lexicon = None;
    for phrase in list.split(',').map(str::trim).filter(|phrase| !phrase.is_empty()) {
        let mut parts = Vec::new();
        let mut is_by_sounds = false;
        for word in phrase.split_whitespace() {
            if let Some(number) = model.word_number(word) {
                parts.push(single(number));
                continue;
            }
            let hint = model.word_hint(word);
            let Some((folder, threads)) = sounds else {
                bail!(
                    "the vocabulary of the model lacks the word '{word}'{hint}; --sounds=true searches for its sounds"
                );
            };
            if lexicon.is_none() {
                lexicon = Some(Spoken::read(model, folder, threads)?);
            }
            let lexicon = lexicon.as_ref().context("a lexicon")?;
            parts.push(lexicon.alike(word).with_context(|| format!("the word '{word}'"))?);
            is_by_sounds = true;
        }
        let mut words = ops::concatenate(&parts);
        ops::remove_epsilons(&mut words)?;
        let text = phrase.split_whitespace().collect::<Vec<_>>().join(" ");
        all.push(Phrase { text, words, is_by_sounds });
    }
    if all.is_empty() {
        bail!("expected words or phrases with commas between them, found '{list}'");
    }
    Ok(all)
}

fn single(number: i32) -> Fst {
    let mut words = Fst::default();
    words.start = Some(words.add_state());
    let next = words.add_state();
    words.states[0].arcs.push(Arc { ilabel: number, olabel: number, weight: Weight::one(), next });
    words.states[1].final_weight = Weight::one();
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
