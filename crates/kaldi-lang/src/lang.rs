//! A language: all that training and graphs need to know about words and phones.

use std::collections::{BTreeSet, HashMap, HashSet};

use kaldi_fst::Fst;
use kaldi_fst::store::Symbols;
use kaldi_hmm::HmmTopology;
use kaldi_tree::phone_sets::Root;

use crate::error::{Error, Result};
use crate::l_fst::{Lines, Maker, SilenceAtEnds};
use crate::lexicon::{Lexicon, SilenceModel, is_disambiguation};
use crate::topology;

/// Suffixes of phones by their place in a word, and the place's name in `word_boundary` files.
pub const PLACES: [(&str, &str); 4] =
    [("_B", "begin"), ("_E", "end"), ("_I", "internal"), ("_S", "singleton")];

/// The HMMs of phones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TopologyKind {
    /// One state a phone, for chain models.
    #[default]
    Chain,
    /// Three states for sounds, five for silences, for Gaussian models.
    Hmm,
}

/// Choices that a lexicon leaves open.
#[derive(Debug, Clone, PartialEq)]
pub struct LangOptions {
    /// The first may be between words; others are noises.
    pub silence_phones: Vec<String>,
    /// The probability of silence between words; above 0 and below 1.
    /// The probability of silence between two words.
    pub silence_probability: f64,
    /// True if phones differ by their place in words.
    pub word_positions: bool,
    /// The word for words that the lexicon lacks. If it is empty, that is `<unk>` or `<UNK>`, or else a word without a
    /// pronunciation.
    pub oov_word: String,
    /// The form of the HMMs.
    pub topology: TopologyKind,
    /// Silence at the ends of utterances, if pronunciations have models of silence.
    /// Probabilities of silence at both ends of a sentence, if the lexicon has them.
    pub silence_at_ends: Option<SilenceAtEnds>,
}

impl Default for LangOptions {
    fn default() -> LangOptions {
        LangOptions {
            silence_phones: vec!["SIL".to_owned()],
            silence_probability: 0.5,
            word_positions: true,
            oov_word: String::new(),
            topology: TopologyKind::Chain,
            silence_at_ends: None,
        }
    }
}

/// A pronunciation in numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Pronunciation {
    /// The number of the word.
    pub word: i32,
    /// Above 0, at most 1.
    pub probability: f64,
    /// Probabilities of silence around the word, if the lexicon has them.
    pub silence: Option<SilenceModel>,
    /// Numbers of phones.
    pub phones: Vec<i32>,
    /// The number of the disambiguation symbol at its end, from 1; 0 if it needs none.
    pub number: usize,
}

/// A language.
#[derive(Debug, Clone, PartialEq)]
pub struct Lang {
    /// Phones and disambiguation symbols; 0 is `<eps>`.
    pub phones: Symbols,
    /// Names and numbers of words.
    pub words: Symbols,
    /// In the order of words. Empty if a folder that was read does not list them.
    pub pronunciations: Vec<Pronunciation>,
    /// Numbers of the phones of silence.
    pub silence: Vec<i32>,
    /// Numbers of the phones of speech.
    pub nonsilence: Vec<i32>,
    /// The phone of silence between words.
    pub optional_silence: i32,
    /// `#0`, `#1` … and the symbol of silence, which is the last.
    pub disambiguation: Vec<i32>,
    /// Phones whose states have one pdf in all contexts.
    pub context_independent: Vec<i32>,
    /// Phones that share the root of a tree.
    pub sets: Vec<Vec<i32>>,
    /// Roots of trees with their phones, as in `roots.txt`.
    pub roots: Vec<Root>,
    /// Sets of phones for the questions of trees.
    pub extra_questions: Vec<Vec<i32>>,
    /// Phones and the names of their places in words, in the order of the phones; `None` if places make no difference.
    pub word_boundary: Option<Vec<(i32, String)>>,
    /// The word for words that the lexicon lacks.
    pub oov: i32,
    /// The form of the HMMs.
    pub kind: TopologyKind,
    /// `None` if the language is for the phones of a model, which has its topology.
    pub topology: Option<HmmTopology>,
    /// The probability of silence between two words.
    pub silence_probability: f64,
    /// Probabilities of silence at both ends of a sentence, if the lexicon has them.
    pub silence_at_ends: Option<SilenceAtEnds>,
    /// L without and with disambiguation symbols, sorted by words. `None`: they follow from the pronunciations.
    pub(crate) l: Option<Box<[Fst; 2]>>,
}

impl Lang {
    /// Makes the language of a lexicon: numbers its phones and words.
    ///
    /// # Errors
    /// There are no phones but silence, phones have names that places in words make ambiguous, or an option is out of range.
    pub fn new(lexicon: &Lexicon, options: &LangOptions) -> Result<Lang> {
        check(options)?;
        let silences = &options.silence_phones;
        let used: BTreeSet<&String> = lexicon.entries.iter().flat_map(|entry| &entry.phones).collect();
        let base: Vec<&String> = used.iter().copied().filter(|phone| !silences.contains(phone)).collect();
        if base.is_empty() {
            return Err(Error::file(&lexicon.name, "there are no phones but silence"));
        }
        let positions = options.word_positions;
        let variants = |phone: &String| match positions {
            true => PLACES.iter().map(|(suffix, _)| format!("{phone}{suffix}")).collect(),
            false => vec![phone.clone()],
        };
        let mut sets: Vec<Vec<String>> = Vec::new();
        for phone in silences {
            let in_words = positions && used.contains(phone);
            sets.push(
                [phone.clone()]
                    .into_iter()
                    .chain(in_words.then(|| variants(phone)).into_iter().flatten())
                    .collect(),
            );
        }
        sets.extend(base.into_iter().map(variants));
        let mut phones = Symbols::new("phones.txt");
        phones.number_or_add("<eps>");
        for name in sets.iter().flatten() {
            if phones.number(name).is_some() {
                return Err(Error::file(
                    &lexicon.name,
                    format!(
                        "the phone '{name}' has the name of another one at some place in words; rename it, or \
                         --word-positions=false"
                    ),
                ));
            }
            phones.number_or_add(name);
        }
        let number = |name: &String| phones.number(name).unwrap_or_default() as i32;
        let ids: Vec<Vec<i32>> = sets.iter().map(|set| set.iter().map(number).collect()).collect();
        let silence = ids[..silences.len()].concat();
        let nonsilence = ids[silences.len()..].concat();
        let name = |id: &i32| phones.name(i64::from(*id)).unwrap_or_default();
        let mut extra_questions = vec![silence.clone()];
        let word_boundary = positions.then(|| {
            let at = |suffix| nonsilence.iter().copied().filter(|id| name(id).ends_with(suffix)).collect();
            extra_questions.extend(PLACES.iter().map(|(suffix, _)| at(*suffix)));
            let place = |id: &i32| match silences.iter().any(|silence| silence == name(id)) {
                true => "nonword",
                false => PLACES
                    .iter()
                    .find(|(suffix, _)| name(id).ends_with(suffix))
                    .map_or("nonword", |place| place.1),
            };
            silence.iter().chain(&nonsilence).map(|id| (*id, place(id).to_owned())).collect()
        });
        let topology = match options.topology {
            TopologyKind::Chain => topology::chain([silence.clone(), nonsilence.clone()].concat()),
            TopologyKind::Hmm => topology::hmm(nonsilence.clone(), silence.clone()),
        }?;
        let root = |phones: &Vec<i32>| Root { phones: phones.clone(), shared: true, split: true };
        let roots = ids.iter().map(root).collect();
        let mut lang = Lang {
            optional_silence: silence[0],
            context_independent: silence.clone(),
            silence,
            nonsilence,
            sets: ids,
            roots,
            extra_questions,
            word_boundary,
            kind: options.topology,
            topology: Some(topology),
            ..Lang::with_words(phones, lexicon, options)?
        };
        lang.add_disambiguation();
        Ok(lang)
    }

    /// Makes a language for a model that is there already: phones have its names and numbers. Only symbols, pronunciations, L
    /// and silence are known then. `file` is the name of the phones' table in messages.
    ///
    /// # Errors
    /// The lexicon has phones that the table lacks, or the table lacks the silence phone.
    pub fn for_phones(lexicon: &Lexicon, table: &Symbols, file: &str, options: &LangOptions) -> Result<Lang> {
        check(options)?;
        let mut phones = Symbols::new("phones.txt");
        for (name, number) in table.iter().filter(|(name, _)| !is_disambiguation(name)) {
            phones.add(name, number).map_err(|problem| Error::file(file, problem))?;
        }
        // The first phone that the table lacks: as the lexicon has it, and with its place in the word.
        let lacking = |entry: &crate::lexicon::Entry| -> Option<(String, String)> {
            let phones_here = placed(&entry.phones, options.word_positions);
            let mut pairs = entry.phones.iter().cloned().zip(phones_here);
            pairs.find(|(_, placed)| phones.number(placed).is_none())
        };
        if let Some((entry, (phone, placed))) =
            lexicon.entries.iter().find_map(|entry| Some((entry, lacking(entry)?)))
        {
            let elsewhere =
                PLACES.iter().any(|(suffix, _)| phones.number(&format!("{phone}{suffix}")).is_some());
            let here =
                if elsewhere { format!(" at this place of a word ('{placed}')") } else { String::new() };
            let problem = format!(
                "the word '{}' has the phone '{phone}', which {file} does not have{here}",
                entry.word
            );
            return Err(Error::file(&lexicon.name, problem));
        }
        let mut silence = Vec::new();
        for (place, name) in options.silence_phones.iter().enumerate() {
            if place == 0 && phones.number(name).is_none() {
                return Err(Error::Options(format!("--silence-phones: {file} has no phone '{name}'")));
            }
            // (In words, silences may have places, too.)
            let forms = [""].into_iter().chain(PLACES.iter().map(|(suffix, _)| *suffix));
            silence.extend(
                forms.filter_map(|suffix| phones.number(&format!("{name}{suffix}"))).map(|id| id as i32),
            );
        }
        let ids = phones.iter().map(|(_, number)| number as i32).filter(|id| *id > 0);
        let nonsilence = ids.filter(|id| !silence.contains(id)).collect();
        let mut lang = Lang {
            optional_silence: silence[0],
            silence,
            nonsilence,
            ..Lang::with_words(phones, lexicon, options)?
        };
        lang.add_disambiguation();
        Ok(lang)
    }

    /// A language with words and pronunciations only.
    fn with_words(phones: Symbols, lexicon: &Lexicon, options: &LangOptions) -> Result<Lang> {
        let mut words = Symbols::new("words.txt");
        let names = lexicon.entries.iter().map(|entry| entry.word.as_str());
        for word in ["<eps>"].into_iter().chain(names).chain(["#0", "<s>", "</s>"]) {
            words.number_or_add(word);
        }
        // Without a word for others, it is one that has no pronunciation, so that no graph has it.
        let candidates = [options.oov_word.as_str(), "<unk>", "<UNK>", "<s>"];
        let oov = candidates.iter().find_map(|word| words.number(word)).unwrap_or_default() as i32;
        let in_numbers = |entry: &crate::lexicon::Entry| {
            let names = placed(&entry.phones, options.word_positions);
            Pronunciation {
                word: words.number(&entry.word).unwrap_or_default() as i32,
                probability: entry.probability,
                silence: entry.silence,
                phones: names.iter().map(|name| phones.number(name).unwrap_or_default() as i32).collect(),
                number: 0,
            }
        };
        let mut pronunciations: Vec<Pronunciation> = lexicon.entries.iter().map(in_numbers).collect();
        disambiguate(&mut pronunciations);
        let silence_at_ends = lexicon.has_silence_models().then(|| {
            let even = SilenceAtEnds { begin: options.silence_probability, end_silence: 1.0, end_other: 1.0 };
            options.silence_at_ends.unwrap_or(even)
        });
        Ok(Lang {
            phones,
            words,
            pronunciations,
            silence: Vec::new(),
            nonsilence: Vec::new(),
            optional_silence: 0,
            disambiguation: Vec::new(),
            context_independent: Vec::new(),
            sets: Vec::new(),
            roots: Vec::new(),
            extra_questions: Vec::new(),
            word_boundary: None,
            oov,
            kind: options.topology,
            topology: None,
            silence_probability: options.silence_probability,
            silence_at_ends,
            l: None,
        })
    }

    /// Gives numbers to `#0`, `#1` … and to the symbol of silence, behind all phones.
    fn add_disambiguation(&mut self) {
        let most = self.pronunciations.iter().map(|pronunciation| pronunciation.number).max().unwrap_or(0);
        for i in 0..most + 2 {
            let number = self.phones.number_or_add(&format!("#{i}"));
            self.disambiguation.push(number as i32);
        }
    }

    /// Replaces the probabilities of pronunciations and of silence, and so L.
    pub fn set_probabilities(&mut self, pronunciations: Vec<Pronunciation>, ends: Option<SilenceAtEnds>) {
        self.pronunciations = pronunciations;
        self.silence_at_ends = ends;
        self.l = None;
    }

    /// The arcs of L, for training graphs or, with disambiguation symbols, for decoding graphs.
    pub fn l_lines(&self, with_disambiguation: bool) -> Lines {
        let maker = Maker {
            pronunciations: &self.pronunciations,
            silence: self.optional_silence,
            silence_probability: self.silence_probability,
            by_words: self.silence_at_ends,
            backoff_word: self.words.number("#0").unwrap_or_default() as i32,
        };
        maker.lines(with_disambiguation.then_some(&self.disambiguation[..]))
    }

    /// L, sorted by words.
    pub fn l_fst(&self, with_disambiguation: bool) -> Fst {
        if let Some(l) = &self.l {
            return l[usize::from(with_disambiguation)].clone();
        }
        let mut fst = self.l_lines(with_disambiguation).fst();
        kaldi_fst::ops::sort_arcs(&mut fst, kaldi_fst::ops::Side::Output);
        fst
    }

    /// The number of a word, or that of the word for others.
    pub fn word(&self, name: &str) -> i32 {
        self.words.number(name).map_or(self.oov, |number| number as i32)
    }

    /// The name of a phone without its place in words.
    pub fn base_phone(&self, phone: i32) -> &str {
        let name = self.phones.name(phone.into()).unwrap_or_default();
        let has_place = self.word_boundary.is_some() || self.topology.is_none();
        let base = PLACES.iter().find_map(|(suffix, _)| name.strip_suffix(suffix));
        base.filter(|_| has_place).unwrap_or(name)
    }
}

fn check(options: &LangOptions) -> Result<()> {
    let p = options.silence_probability;
    if !(p > 0.0 && p < 1.0) {
        return Err(Error::Options(format!(
            "--silence-probability={p}: expected a number above 0 and below 1"
        )));
    }
    if options.silence_phones.is_empty() || options.silence_phones.iter().any(String::is_empty) {
        return Err(Error::Options("--silence-phones: expected names between commas".to_owned()));
    }
    Ok(())
}

/// The phones of a word, each marked by its place if `positions`.
pub fn placed(phones: &[String], positions: bool) -> Vec<String> {
    if !positions {
        return phones.to_vec();
    }
    let last = phones.len() - 1;
    let suffix = |i| match i {
        _ if last == 0 => "_S",
        0 => "_B",
        _ if i == last => "_E",
        _ => "_I",
    };
    phones.iter().enumerate().map(|(i, phone)| format!("{phone}{}", suffix(i))).collect()
}

/// Numbers the symbols that tell apart equal pronunciations, and those that others begin with.
fn disambiguate(pronunciations: &mut [Pronunciation]) {
    let mut counts: HashMap<Vec<i32>, usize> = HashMap::new();
    let mut prefixes: HashSet<Vec<i32>> = HashSet::new();
    for Pronunciation { phones, .. } in pronunciations.iter() {
        *counts.entry(phones.clone()).or_default() += 1;
        prefixes.extend((1..phones.len()).map(|length| phones[..length].to_vec()));
    }
    let mut used: HashMap<Vec<i32>, usize> = HashMap::new();
    for pronunciation in pronunciations {
        if counts[&pronunciation.phones] > 1 || prefixes.contains(&pronunciation.phones) {
            let number = used.entry(pronunciation.phones.clone()).or_default();
            *number += 1;
            pronunciation.number = *number;
        }
    }
}
