//! A model of pronunciations.

use std::num::NonZero;

use kaldi_io::alike;
use kaldi_io::text::is_token;
use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter};

use crate::error::{Error, Result};
use crate::graphone::{Inventory, Spelled};
use crate::letters::letters;
use crate::nbest::{self, Wanted};
use crate::ngrams::{Ngrams, arpa, binary};
use crate::parallel;
use crate::search::{self, Limits};

/// Graphones and the n-grams of their sequences. Threads may share it.
///
/// ```no_run
/// let model = kaldi_g2p::Model::load("g2p.model")?;
/// for pronunciation in model.pronounce("phone", 3)? {
///     println!("{} {}", pronunciation.probability, pronunciation.phones.join(" "));
/// }
/// # Ok::<(), kaldi_g2p::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The graphones.
    pub inventory: Inventory,
    /// The n-grams of graphones.
    pub ngrams: Ngrams,
    /// The lexicon and the options that the model was made of, for [`crate::train::stamp`]; empty if unknown.
    pub stamp: String,
}

/// A pronunciation of a word. The probabilities of all pronunciations of a word sum to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Pronunciation<'m> {
    /// The share of this pronunciation among all of the word, from 0 to 1.
    pub probability: f64,
    /// Names of phones.
    pub phones: Vec<&'m str>,
}

/// Limits of the search for pronunciations.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchOptions {
    /// Largest number of pronunciations.
    pub count: usize,
    /// Least probability of a pronunciation; the first one is there in any case.
    pub min_probability: f64,
    /// Pronunciations are enough if their probabilities sum to this.
    pub mass: f64,
    /// Distance from the best sequence of graphones, in natural logarithms, at which a search state is dropped. Infinity: the search
    /// is exact.
    pub beam: f64,
    /// Largest number of search states at a letter.
    pub most_states: usize,
}

impl Default for SearchOptions {
    fn default() -> Self {
        SearchOptions { count: 1, min_probability: 0.0, mass: 1.0, beam: 8.0, most_states: 1000 }
    }
}

impl Model {
    /// Reads a model of either form from an rxfilename.
    ///
    /// # Errors
    /// The file cannot be read, or is no model.
    pub fn load(rxfilename: &str) -> Result<Model> {
        let mut r = KaldiReader::open_raw(rxfilename)?;
        r.detect_header()?;
        let model = Model::read(&mut r)?;
        r.finish()?;
        Ok(model)
    }

    /// Reads a binary file behind its header, or an ARPA file to its end.
    ///
    /// # Errors
    /// The data are no model.
    pub fn read(r: &mut KaldiReader) -> Result<Model> {
        if r.binary() { Model::read_binary(r) } else { Model::read_text(r) }
    }

    /// # Errors
    /// The data are no model.
    fn read_binary(r: &mut KaldiReader) -> Result<Model> {
        r.expect_token("<G2p>")?;
        r.expect_token("<Stamp>")?;
        let stamp = r.read_token()?;
        if !is_token(&stamp) {
            return Err(r.error("the stamp of the model has control characters").into());
        }
        r.expect_token("<Graphones>")?;
        let count = r.read_i32()?;
        let count = r.check_count(count, "graphones")?;
        let mut spelled = Vec::new();
        for _ in 0..count {
            let symbol = r.read_token()?;
            let graphone = Spelled::parse(&symbol)
                .ok_or_else(|| r.error(format!("expected a graphone such as 'p+h=F', found '{symbol}'")))?;
            if spelled.last().is_some_and(|last| *last >= graphone) {
                return Err(r.error(format!("the graphone '{symbol}' is not in order")).into());
            }
            spelled.push(graphone);
        }
        let inventory = Inventory::new(spelled);
        let ngrams = binary::read(r, inventory.len())?;
        r.expect_token("</G2p>")?;
        Ok(Model { inventory, ngrams, stamp: if stamp == NO_STAMP { String::new() } else { stamp } })
    }

    /// # Errors
    /// The data are no model.
    fn read_text(r: &mut KaldiReader) -> Result<Model> {
        let (ngrams, inventory) = arpa::read(r)?;
        Ok(Model { inventory, ngrams, stamp: String::new() })
    }

    /// Writes a model, whole or not at all: binary, or an ARPA file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn store(&self, wxfilename: &str, binary: bool) -> Result<()> {
        let mut w = KaldiWriter::create(wxfilename, binary)?;
        self.write(&mut w)?;
        Ok(w.finish()?)
    }

    /// Writes a binary file without its header, or an ARPA file. An ARPA file has no stamp.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        if !w.binary() {
            return arpa::write(&self.ngrams, &self.inventory, w);
        }
        w.write_token("<G2p>")?;
        w.write_token("<Stamp>")?;
        w.write_token(if self.stamp.is_empty() { NO_STAMP } else { &self.stamp })?;
        w.write_token("<Graphones>")?;
        w.write_i32(w.count(self.inventory.len())?)?;
        for number in 0..self.inventory.len() as u32 {
            w.write_token(&self.inventory.spelled(number).symbol())?;
        }
        binary::write(&self.ngrams, w)?;
        w.write_token("</G2p>")
    }

    /// Returns up to `count` pronunciations, the most probable first.
    ///
    /// # Errors
    /// The model has never seen one of the letters, or has no pronunciation for them in this order.
    pub fn pronounce(&self, word: &str, count: usize) -> Result<Vec<Pronunciation<'_>>> {
        self.pronounce_with(word, &SearchOptions { count, ..SearchOptions::default() })
    }

    /// Does the same as [`pronounce`](Self::pronounce) with all options.
    ///
    /// # Errors
    /// The word has a letter that the model does not know, or no pronunciation.
    pub fn pronounce_with(&self, word: &str, options: &SearchOptions) -> Result<Vec<Pronunciation<'_>>> {
        let numbers = self.letters(word)?;
        let limits = Limits { beam: options.beam as f32, most_states: options.most_states };
        let missing = || Error::NoPronunciation { word: word.to_owned() };
        let lattice =
            search::lattice(&self.inventory, &self.ngrams, &numbers, &limits).ok_or_else(missing)?;
        let wanted = Wanted {
            count: options.count,
            min_probability: options.min_probability,
            mass: options.mass,
            cut: (-options.beam).exp() * CUT,
        };
        let found = nbest::best(lattice, &wanted);
        if found.is_empty() {
            return Err(missing());
        }
        let pronunciation = |(phones, probability): (Vec<u32>, f64)| Pronunciation {
            probability,
            phones: phones.iter().map(|&phone| self.inventory.phones.name(phone)).collect(),
        };
        Ok(found.into_iter().map(pronunciation).collect())
    }

    /// Returns the pronunciations of each word, in order, computed by several threads.
    pub fn pronounce_all(
        &self,
        words: &[String],
        options: &SearchOptions,
        threads: NonZero<usize>,
    ) -> Vec<Result<Vec<Pronunciation<'_>>>> {
        let parts = words.len().div_ceil(WORDS_OF_A_PART);
        let found = parallel::map(words.len(), parts, threads, |range| {
            range.map(|place| self.pronounce_with(&words[place], options)).collect::<Vec<_>>()
        });
        found.into_iter().flatten().collect()
    }

    /// True if a graphone of the model has this letter.
    pub(crate) fn has_letter(&self, letter: &str) -> bool {
        self.inventory.letters.number(letter).is_some()
    }

    /// Returns the numbers of a word's letters.
    fn letters(&self, word: &str) -> Result<Vec<u32>> {
        let letters = letters(word);
        if letters.is_empty() {
            return Err(Error::NoPronunciation { word: word.to_owned() });
        }
        let known = &self.inventory.letters;
        let number = |letter: String| match known.number(&letter) {
            Some(number) => Ok(number),
            None => Err(Error::UnknownLetter {
                word: word.to_owned(),
                hint: alike::hint(&letter, known.iter()),
                letter,
            }),
        };
        letters.into_iter().map(number).collect()
    }
}

/// Words that a thread takes at once.
const WORDS_OF_A_PART: usize = 64;

/// The stamp of a model without one.
const NO_STAMP: &str = "-";

/// States of the sum over all cuts may have this much less than the beam allows.
const CUT: f64 = 1e-2;

impl KaldiObject for Model {
    /// # Errors
    /// The data are no model.
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<Self> {
        Model::read(r).map_err(|error| match error {
            Error::Io(error) => error,
            other => kaldi_io::IoError::Value(other.to_string()),
        })
    }

    /// # Errors
    /// The file cannot be written.
    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        Model::write(self, w)
    }
}
