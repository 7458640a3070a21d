//! The lexicon of a job: of a file or of letters, with a way for words that it lacks.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::path::Path;

use kaldi_corpus::Corpus;
use kaldi_corpus::vocabulary::{Missing, Words};
use kaldi_fst::store::Symbols;
use kaldi_io::filename::RxFilename;
use kaldi_lang::lexicon::{Entry, Lexicon};
use kaldi_lang::{LangOptions, TopologyKind};
use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::guessed::{Guessed, guess};
use crate::letters::{is_letter, signs};
use crate::model_phones::ModelPhones;
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

/// The share of phones, and of words, whose lack tells of another language. The phones that a sentence names.
const MANY_PHONES: f64 = 0.25;
const MANY_WORDS: f64 = 0.5;
const NAMED: usize = 8;

/// The words of a text.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(' ').filter(|word| !word.is_empty())
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
    /// The phones of the model, if one is given.
    model: Option<ModelPhones>,
    /// Words none of whose pronunciations has only phones of the model, each with a phone that the model lacks.
    lacking: BTreeMap<String, String>,
    /// Phones of the lexicon, and those of them that the model lacks.
    phones: BTreeSet<String>,
    lacking_phones: BTreeSet<String>,
    /// Letters and signs that are one phone together, the longest first.
    digraphs: Vec<Vec<String>>,
}

impl Pronunciations {
    /// Reads a lexicon. That of letters is complete after [`complete`](Self::complete).
    ///
    /// # Errors
    /// The file cannot be read, or a line makes no sense.
    pub fn new(source: Source) -> Result<Pronunciations> {
        match &source {
            Source::File(file) => {
                if std::path::Path::new(file).is_dir() {
                    let message = "expected a lexicon (a file, or letters), found a folder".to_owned();
                    return Err(Error::File { path: file.clone(), message });
                }
                if matches!(RxFilename::parse(file), Ok(RxFilename::File(path)) if !path.exists()) {
                    let message = "there is no such lexicon (a file, or letters)".to_owned();
                    return Err(Error::File { path: file.clone(), message });
                }
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

    fn of(mut lexicon: Lexicon, warnings: Vec<String>, source: Source) -> Result<Pronunciations> {
        // (A letter with its mark looks the same in each of Unicode's forms. Words are brought to one form, too.)
        for phone in lexicon.entries.iter_mut().flat_map(|entry| &mut entry.phones) {
            if !is_nfc(phone) {
                *phone = phone.nfc().collect();
            }
        }
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
        Ok(Pronunciations {
            lexicon,
            words,
            warnings,
            silence,
            spoken,
            unknown_word,
            source,
            model: None,
            lacking: BTreeMap::new(),
            phones: BTreeSet::new(),
            lacking_phones: BTreeSet::new(),
            digraphs: Vec::new(),
        })
    }

    /// Takes groups of letters that are one phone each, for a lexicon of letters. Longer ones come before shorter ones.
    ///
    /// # Errors
    /// The lexicon is not one of letters, or a group has fewer than two letters.
    pub fn set_digraphs(&mut self, groups: &[String]) -> Result<()> {
        let wrong = |message: &str| {
            let value = groups.join(",");
            Err(Error::Setting { setting: "digraphs", value, message: message.to_owned() })
        };
        if self.source != Source::Letters {
            return wrong("only a lexicon of letters has use for them");
        }
        let mut digraphs: Vec<Vec<String>> = Vec::new();
        for group in groups {
            let signs = signs(&group.to_lowercase());
            if signs.iter().filter(|sign| is_letter(sign)).count() < 2 {
                return wrong(&format!("expected two letters or more, found '{group}'"));
            }
            digraphs.push(signs);
        }
        digraphs.sort_by_key(|digraph| std::cmp::Reverse(digraph.len()));
        self.digraphs = digraphs;
        Ok(())
    }

    /// The phones of a word of letters.
    fn letters(&self, word: &str) -> Vec<String> {
        let signs = signs(word);
        let mut rest = signs.as_slice();
        let mut out = Vec::new();
        while let Some((first, behind)) = rest.split_first() {
            match self.digraphs.iter().find(|digraph| rest.starts_with(digraph)) {
                Some(digraph) => {
                    out.push(digraph.concat());
                    rest = &rest[digraph.len()..];
                }
                None => {
                    if is_letter(first) {
                        out.push(first.clone());
                    }
                    rest = behind;
                }
            }
        }
        out
    }

    /// The groups of letters that are one phone each.
    pub fn digraphs(&self) -> Vec<String> {
        self.digraphs.iter().map(|digraph| digraph.concat()).collect()
    }

    /// Takes away pronunciations with phones that a model lacks. Words that are left without one are unknown words. If no groups of letters
    /// were given for a lexicon of letters, those are taken that are phones of the model.
    pub fn limit(&mut self, phones: &Symbols) {
        let model = ModelPhones::new(phones);
        self.name_phones_as(&model);
        if self.source == Source::Letters && self.digraphs.is_empty() {
            self.digraphs = model.groups(&[&self.silence, &self.spoken]);
        }
        let own = &self.spoken;
        let phones = self.lexicon.entries.iter().flat_map(|entry| &entry.phones);
        self.phones = phones.filter(|phone| *phone != own && **phone != self.silence).cloned().collect();
        self.lacking_phones = self.phones.iter().filter(|phone| !model.has(phone)).cloned().collect();
        let mut lacking: BTreeMap<String, String> = BTreeMap::new();
        let (kept, gone): (Vec<Entry>, Vec<Entry>) =
            std::mem::take(&mut self.lexicon.entries).into_iter().partition(|entry| {
                // (The phone for anything spoken takes the model's name for it later.)
                entry.phones.iter().all(|phone| phone == own) || model.lacking(&entry.phones).is_none()
            });
        let known: BTreeSet<&str> = kept.iter().map(|entry| entry.word.as_str()).collect();
        for entry in gone.iter().filter(|entry| !known.contains(entry.word.as_str())) {
            if let Some(phone) = model.lacking(&entry.phones) {
                lacking.entry(entry.word.clone()).or_insert_with(|| phone.to_owned());
            }
        }
        drop(known);
        self.lexicon = Lexicon::new(&self.lexicon.name, kept);
        (self.model, self.lacking) = (Some(model), lacking);
    }

    /// Gives phones the names of the model, which may be in another of Unicode's forms.
    fn name_phones_as(&mut self, model: &ModelPhones) {
        let names = model.decomposed();
        for phone in self.lexicon.entries.iter_mut().flat_map(|entry| &mut entry.phones) {
            if let Some(name) = names.get(phone.as_str()).filter(|_| !model.has(phone)) {
                *phone = (*name).to_owned();
            }
        }
    }

    /// Words of a corpus, in the order of the alphabet, that are aligned by some of their letters, as the others are no phones.
    pub fn shortened(&self, corpus: &Corpus) -> Vec<(String, Vec<String>)> {
        let words: BTreeSet<&str> =
            corpus.utterances.iter().flat_map(|utterance| words_of(&utterance.text)).collect();
        let own = |word: &&str| Some(((*word).to_owned(), self.first(word)?.phones.clone()));
        let is_guess = |word: &&&str| !self.words.has(word) || self.unusable(word).is_some();
        let found = words.iter().filter(is_guess).filter_map(own);
        found
            .filter(|(word, phones)| {
                *phones != [self.spoken.clone()] && phones.len() < self.letters(word).len()
            })
            .collect()
    }

    /// A sentence if many phones of the lexicon, or most words of a corpus, are unknown: the model or the lexicon may be of another
    /// language. `missing` are the words of the corpus that the lexicon or the model lacks.
    pub fn warning_of_language(&self, corpus: &Corpus, missing: &[Missing]) -> Option<String> {
        let words: BTreeSet<&str> =
            corpus.utterances.iter().flat_map(|utterance| words_of(&utterance.text)).collect();
        let of_letters: BTreeSet<String>;
        let lacking: Vec<&String>;
        let phones = match (&self.source, &self.model) {
            (Source::Letters, Some(model)) => {
                of_letters = words.iter().flat_map(|word| self.letters(word)).collect();
                lacking = of_letters.iter().filter(|phone| !model.has(phone)).collect();
                of_letters.len()
            }
            _ => {
                lacking = self.lacking_phones.iter().collect();
                self.phones.len()
            }
        };
        if lacking.len() as f64 > MANY_PHONES * phones as f64 {
            let first: Vec<&str> = lacking.iter().take(NAMED).map(|phone| phone.as_str()).collect();
            return Some(format!(
                "the model lacks {} of the {phones} phones of the lexicon ({}{}): it may be of another language, or call phones \
                 by other names",
                lacking.len(),
                first.join(" "),
                if lacking.len() > NAMED { " …" } else { "" }
            ));
        }
        let unknown = missing.iter().filter(|missing| words.contains(missing.word.as_str())).count();
        let who = if self.model.is_some() { "the lexicon or the model" } else { "the lexicon" };
        (unknown as f64 > MANY_WORDS * words.len() as f64).then(|| {
            format!(
                "{who} lacks {unknown} of the {} words of the texts: it may be of another language",
                words.len()
            )
        })
    }

    /// A clause that says why a word of the lexicon has no pronunciation in the phones of the model; `None` if it has one.
    pub fn unusable(&self, word: &str) -> Option<String> {
        let own;
        let phone = match (&self.source, &self.model) {
            (Source::Letters, Some(model)) => {
                own = self.letters(word);
                model.lacking(&own)
            }
            _ => self.lacking.get(word).map(String::as_str),
        }?;
        Some(format!("the model lacks the phone '{phone}'"))
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
        let unusable: BTreeMap<&str, String> =
            needed.iter().filter_map(|&word| Some((word, self.unusable(word)?))).collect();
        let is_in_model = |letter: &String| self.model.as_ref().is_none_or(|model| model.has(letter));
        let can_align = |found: &Vec<String>| {
            !found.is_empty() && self.model.as_ref().is_none_or(|model| model.lacking(found).is_none())
        };
        // (Phones that no text has cannot be trained.)
        entries.retain(|entry| needed.contains(entry.word.as_str()) || entry.word == self.unknown_word);
        for word in needed.into_iter().filter(|word| !word.is_empty() && !known.contains(*word)) {
            match self.source {
                Source::Letters if self.words.has(word) && !unusable.contains_key(word) => {
                    entries.push(entry(word, self.letters(word)));
                }
                Source::Letters if self.words.has(word) && unknown == Unknown::Letters => {
                    let found: Vec<String> = self.letters(word).into_iter().filter(is_in_model).collect();
                    if can_align(&found) {
                        entries.push(entry(word, found));
                    }
                }
                Source::File(_) | Source::Model if unknown == Unknown::Letters => {
                    let found: Vec<String> =
                        self.letters(word).into_iter().filter(|letter| phones.contains(letter)).collect();
                    if can_align(&found) {
                        entries.push(entry(word, found));
                    }
                }
                _ => {}
            }
        }
        if entries.iter().all(|entry| entry.word == self.unknown_word) {
            let reason = unusable.first_key_value();
            let reason = reason.map_or(String::new(), |(word, clause)| format!(": for '{word}', {clause}"));
            return Err(Error::Data(format!("no word of the texts has a pronunciation{reason}")));
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

    /// True for the lexicon in which each letter is a phone.
    pub fn is_of_letters(&self) -> bool {
        self.source == Source::Letters
    }

    /// True if the word is aligned as anything spoken: it has no pronunciation of its own, or one of that phone only.
    pub fn is_any_speech(&self, word: &str) -> bool {
        let entries = &self.lexicon.entries;
        // (Sorted by bytes.)
        let begin = entries.partition_point(|entry| entry.word.as_bytes() < word.as_bytes());
        let own = entries[begin..].iter().take_while(|entry| entry.word == word);
        own.flat_map(|entry| &entry.phones).all(|phone| *phone == self.spoken)
    }

    /// The number of words of a text that have no pronunciation of their own.
    pub(crate) fn lacking_in(&self, text: &str) -> usize {
        words_of(text).filter(|word| !self.has(word)).count()
    }

    /// True if the word has a pronunciation of its own.
    pub fn has(&self, word: &str) -> bool {
        self.first(word).is_some()
    }

    /// A pronunciation of a word.
    fn first(&self, word: &str) -> Option<&Entry> {
        let entries = &self.lexicon.entries;
        // (Sorted by bytes.)
        let place = entries.binary_search_by(|entry| entry.word.as_bytes().cmp(word.as_bytes()));
        place.ok().map(|place| &entries[place])
    }
}

#[cfg(test)]
mod tests;
