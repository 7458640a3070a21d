//! The lexicon of a job: of a file or of letters, with a way for words that it lacks.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::path::Path;

use kaldi_corpus::Corpus;
use kaldi_corpus::vocabulary::Words;
use kaldi_lang::lexicon::{Entry, Lexicon};
use kaldi_lang::{LangOptions, TopologyKind};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::guessed::{Guessed, guess};
use crate::{Error, Result};

/// The source of pronunciations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A lexicon, by its name.
    File(String),
    /// A letter is a sound.
    Letters,
    /// The lexicon within a model.
    Model,
}

/// The treatment of words that the lexicon lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unknown {
    /// They have one phone, which stands for anything spoken.
    #[default]
    Spoken,
    /// A letter of theirs is a phone of the lexicon, as far as it has one of that name.
    Letters,
    /// Their pronunciations are guessed from those of the lexicon.
    G2p,
    /// Their utterances are left out.
    Skip,
}

/// The word that stands for those without a pronunciation.
const UNKNOWN_WORD: &str = "<unk>";

/// A lexicon with what belongs to it.
#[derive(Debug, Clone)]
pub struct Pronunciations {
    /// Words with their phones.
    pub lexicon: Lexicon,
    /// The words that the lexicon has.
    pub words: Words,
    /// Remarks on the file.
    pub warnings: Vec<String>,
    /// The phone of pauses, and the one that stands for anything spoken.
    pub silence: String,
    /// The phone that stands for anything spoken.
    pub spoken: String,
    unknown_word: String,
    source: Source,
}

impl Pronunciations {
    /// Reads a lexicon. That of letters is complete after [`complete`](Self::complete).
    ///
    /// # Errors
    /// The file cannot be read, or a line makes no sense.
    pub fn new(source: Source) -> Result<Pronunciations> {
        match &source {
            Source::File(file) => {
                let (lexicon, warnings) = Lexicon::read(file)?;
                Pronunciations::of(lexicon, warnings, source)
            }
            Source::Letters => {
                Pronunciations::of(Lexicon::new("letters", Vec::new()), Vec::new(), Source::Letters)
            }
            Source::Model => Err(Error::Data("the lexicon of a model is opened with the model".to_owned())),
        }
    }

    /// Takes the lexicon within a model.
    ///
    /// # Errors
    /// It has no words.
    pub fn of_lexicon(lexicon: Lexicon) -> Result<Pronunciations> {
        Pronunciations::of(lexicon, Vec::new(), Source::Model)
    }

    fn of(lexicon: Lexicon, warnings: Vec<String>, source: Source) -> Result<Pronunciations> {
        let words = match source {
            Source::Letters => Words::Letters,
            Source::File(_) | Source::Model if lexicon.entries.is_empty() => {
                return Err(Error::File { path: lexicon.name, message: "the lexicon is empty".to_owned() });
            }
            Source::File(_) | Source::Model => {
                Words::listed(lexicon.entries.iter().map(|entry| entry.word.as_str()))
            }
        };
        let phones: BTreeSet<&str> =
            lexicon.entries.iter().flat_map(|entry| &entry.phones).map(String::as_str).collect();
        let is_known = |name: &&&str| phones.contains(**name);
        let silence = ["SIL", "sil"].iter().find(is_known).unwrap_or(&"SIL");
        let of_unknown = lexicon.entries.iter().find(|entry| {
            matches!(entry.word.as_str(), "<unk>" | "<UNK>" | "<oov>" | "<OOV>" | "[UNK]" | "[unk]")
                && entry.phones.len() == 1
        });
        let default = if *silence == "sil" { "spn" } else { "SPN" };
        let spoken = match of_unknown {
            Some(entry) => entry.phones[0].clone(),
            None => (*["SPN", "spn"].iter().find(is_known).unwrap_or(&default)).to_owned(),
        };
        let unknown_word = of_unknown.map_or(UNKNOWN_WORD, |entry| &entry.word).to_owned();
        let silence = (*silence).to_owned();
        Ok(Pronunciations { lexicon, words, warnings, silence, spoken, unknown_word, source })
    }

    /// Adds guessed pronunciations of the words of a corpus that the lexicon lacks. The model of a former call is in `cache`.
    /// Returns `None` if the lexicon has all words.
    ///
    /// # Errors
    /// The lexicon is one of letters, or is too small to learn from.
    pub fn guess(
        &mut self,
        corpus: &Corpus,
        cache: &Path,
        threads: NonZero<usize>,
    ) -> Result<Option<Guessed>> {
        if self.source == Source::Letters {
            let message = "pronunciations cannot be learned from a lexicon of letters".to_owned();
            return Err(Error::Setting { setting: "unknown-words", value: "g2p".to_owned(), message });
        }
        let needed: BTreeSet<&str> =
            corpus.utterances.iter().flat_map(|utterance| utterance.text.split(' ')).collect();
        let lacking = needed.into_iter().filter(|word| !word.is_empty() && !self.has(word));
        let words: Vec<String> = lacking.map(str::to_owned).collect();
        if words.is_empty() {
            return Ok(None);
        }
        let guessed = guess(&self.lexicon, &words, &[&self.silence, &self.spoken], cache, threads)?;
        let entries = self.lexicon.entries.iter().chain(&guessed.entries).cloned().collect();
        self.lexicon = Lexicon::new(&self.lexicon.name, entries);
        Ok(Some(guessed))
    }

    /// Adds the pronunciations that the words of a corpus need: those of letters, and the word that stands for unknown ones.
    /// Texts are in words of the lexicon already.
    ///
    /// # Errors
    /// There is no word with a pronunciation.
    pub fn complete(&mut self, corpus: &Corpus, unknown: Unknown) -> Result<()> {
        let mut entries = std::mem::take(&mut self.lexicon.entries);
        let known: BTreeSet<String> = entries.iter().map(|entry| entry.word.clone()).collect();
        let phones: BTreeSet<String> = entries.iter().flat_map(|entry| entry.phones.clone()).collect();
        let needed: BTreeSet<&str> =
            corpus.utterances.iter().flat_map(|utterance| utterance.text.split(' ')).collect();
        let entry =
            |word: &str, phones| Entry { word: word.to_owned(), probability: 1.0, silence: None, phones };
        // (Phones that no text has cannot be trained.)
        entries.retain(|entry| needed.contains(entry.word.as_str()) || entry.word == self.unknown_word);
        for word in needed.into_iter().filter(|word| !word.is_empty() && !known.contains(*word)) {
            match self.source {
                Source::Letters if self.words.has(word) => entries.push(entry(word, letters(word))),
                Source::File(_) | Source::Model if unknown == Unknown::Letters => {
                    let found: Vec<String> =
                        letters(word).into_iter().filter(|letter| phones.contains(letter)).collect();
                    if !found.is_empty() {
                        entries.push(entry(word, found));
                    }
                }
                _ => {}
            }
        }
        if entries.iter().all(|entry| entry.word == self.unknown_word) {
            return Err(Error::Data("no word of the texts has a pronunciation".to_owned()));
        }
        if !entries.iter().any(|entry| entry.word == self.unknown_word) {
            entries.push(entry(&self.unknown_word, vec![self.spoken.clone()]));
        }
        self.lexicon = Lexicon::new(&self.lexicon.name, entries);
        Ok(())
    }

    /// Settings of the language for training.
    pub fn options(&self) -> LangOptions {
        LangOptions {
            silence_phones: vec![self.silence.clone(), self.spoken.clone()],
            oov_word: self.unknown_word.clone(),
            topology: TopologyKind::Hmm,
            ..LangOptions::default()
        }
    }

    /// True if the word has a pronunciation of its own.
    pub fn has(&self, word: &str) -> bool {
        let entries = &self.lexicon.entries;
        // (Sorted by bytes.)
        entries.binary_search_by(|entry| entry.word.as_bytes().cmp(word.as_bytes())).is_ok()
    }
}

/// The letters of a word, each with its marks; signs that are no letters have no sound.
fn letters(word: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for c in word.nfc() {
        match out.last_mut() {
            Some(letter) if is_combining_mark(c) => letter.push(c),
            _ if c.is_alphanumeric() => out.push(c.to_string()),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_keep_their_marks() {
        assert_eq!(letters("kye\u{301}ma"), ["k", "y", "é", "m", "a"]);
        assert_eq!(letters("ω\u{301}'nd"), ["ώ", "n", "d"]);
        assert_eq!(letters("\u{155}\u{329}-"), ["\u{155}\u{329}"]);
    }
}
