//! `g2p`: words → their pronunciations, by a model of letters and phones.

use std::num::NonZero;

use anyhow::{Result, bail};
use kaldi_g2p::words::read_words;
use kaldi_g2p::{Entry, Lexicon, Model, Pronunciation, Respelled, SearchOptions, TrainOptions, cache};
use kaldi_io::text::format_g;
use kaldi_io::text::{count, either};
use kaldi_io::{KaldiReader, KaldiWriter};
use nnet3::messages;
use nnet3::options::threads;
use rustc_hash::FxHashMap;

use super::reports;

/// The least probability in a lexicon: 0 would take the word out of it.
const LEAST: f64 = 1e-30;

/// Pronounce words that a lexicon lacks.
///
/// Words come one a line, from a file or '-'. The output has Kaldi's form of lexiconp.txt: 'word probability phones'. Probabilities are
/// those of pronunciations, summed over all ways to cut them into letters with phones; all pronunciations of a word sum to 1.
///
/// The model comes from g2p-train. With --lexicon there is no model argument: the model is learned from the lexicon, in seconds, and
/// words that the lexicon has are not pronounced. A word with capitals, hyphens or other signs that the model lacks is pronounced with the
/// capitals that it has, and without the signs, with a warning. --cache keeps the model for the next call with the same lexicon.
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n g2p --nbest=3 g2p.model new_words.txt new_lexiconp.txt\n \
                        g2p --lexicon=lexicon.txt --cache=g2p.model --probabilities=false new_words.txt")]
pub struct Options {
    /// Lexicon to learn from, in any form that g2p-train reads
    #[arg(long, default_value = "")]
    lexicon: String,
    /// File that keeps the model of --lexicon. A model of another lexicon is replaced; any other file is an error
    #[arg(long, default_value = "")]
    cache: String,
    /// With --lexicon, also write the pronunciations of words that the lexicon has
    #[arg(long)]
    copy_known: bool,
    /// Largest number of pronunciations of a word
    #[arg(long, default_value_t = 1)]
    nbest: usize,
    /// Least probability of a pronunciation, from 0 to 1. The best one is written in any case
    #[arg(long, default_value_t = 0.0)]
    min_probability: f64,
    /// Pronunciations are enough if their probabilities sum to this, from 0 to 1
    #[arg(long, default_value_t = 1.0)]
    mass: f64,
    /// Write probabilities (lexiconp.txt); otherwise words and phones (lexicon.txt)
    #[arg(long, default_value_t = true)]
    probabilities: bool,
    /// Divide the probabilities of a word by the largest one
    #[arg(long)]
    normalize_max: bool,
    /// Leave out words without a pronunciation, with a warning, instead of stopping: those with letters that the model has never seen
    #[arg(long)]
    skip_bad: bool,
    /// Distance of a search state from the best one, as a natural logarithm, at which it is dropped
    #[arg(long, default_value_t = SearchOptions::default().beam)]
    beam: f64,
    /// Largest number of search states at a letter
    #[arg(long, default_value_t = SearchOptions::default().most_states)]
    max_states: usize,
    /// Number of threads (if not set: the number of processors, at most 8)
    #[arg(long, default_value_t = -1)]
    num_threads: i32,
    #[arg(value_name = "<model-in> <words-in> [<lexicon-out>]", num_args = 1..=3, required = true)]
    files: Vec<String>,
}

/// The files of a command line.
struct Files<'a> {
    model: Option<&'a str>,
    words: &'a str,
    out: &'a str,
}

impl Options {
    fn files(&self) -> Result<Files<'_>> {
        let names: Vec<&str> = self.files.iter().map(String::as_str).collect();
        match (self.lexicon.is_empty(), &names[..]) {
            (true, [model, words]) => Ok(Files { model: Some(model), words, out: "-" }),
            (true, [model, words, out]) => Ok(Files { model: Some(model), words, out }),
            (true, _) => bail!("expected a model and a file of words, or --lexicon=FILE and a file of words"),
            (false, [words]) => Ok(Files { model: None, words, out: "-" }),
            (false, [words, out]) => Ok(Files { model: None, words, out }),
            (false, _) => {
                bail!("expected a file of words and maybe an output: with --lexicon there is no model")
            }
        }
    }

    fn check(&self) -> Result<()> {
        for (name, value) in [("min-probability", self.min_probability), ("mass", self.mass)] {
            if !(0.0..=1.0).contains(&value) {
                bail!("--{name}={value}: expected a number from 0 to 1");
            }
        }
        if self.beam.is_nan() || self.beam < 0.0 {
            bail!("--beam={}: expected a number from 0", self.beam);
        }
        for (name, value) in [("nbest", self.nbest), ("max-states", self.max_states)] {
            if value == 0 {
                bail!("--{name}=0: expected a number from 1");
            }
        }
        if self.lexicon.is_empty() && !self.cache.is_empty() {
            bail!("--cache={}: expected --lexicon=FILE with it", self.cache);
        }
        if self.lexicon.is_empty() && self.copy_known {
            bail!("--copy-known=true: expected --lexicon=FILE with it");
        }
        Ok(())
    }
}

pub fn run(options: Options) -> Result<u8> {
    options.check()?;
    let files = options.files()?;
    let threads = NonZero::new(threads::count(options.num_threads, 8)?).unwrap_or(NonZero::<usize>::MIN);
    KaldiWriter::check(files.out)?;
    let mut r = KaldiReader::open_raw(files.words)?;
    let words = read_words(&mut r)?;
    r.close()?;
    let lexicon = match files.model {
        Some(_) => Lexicon::default(),
        None => Lexicon::load(&options.lexicon, options.skip_bad)?,
    };
    let known = lexicon.words();
    let new: Vec<String> = words.iter().filter(|word| !known.contains_key(word.as_str())).cloned().collect();
    let model = match files.model {
        Some(model) => Some(Model::load(model)?),
        // Without new words there is no need for a model.
        None if new.is_empty() => None,
        None => Some(learned(&lexicon, &options, threads)?),
    };
    let search = SearchOptions {
        count: options.nbest,
        min_probability: options.min_probability,
        mass: options.mass,
        beam: options.beam,
        most_states: options.max_states,
    };
    let found = model.as_ref().map(|model| model.pronounce_all(&new, &search, threads)).unwrap_or_default();
    let mut bad = Vec::new();
    let mut pronunciations: FxHashMap<&str, Vec<Pronunciation>> = FxHashMap::default();
    let mut respelled: Vec<(&str, Respelled)> = Vec::new();
    for (word, found) in new.iter().zip(found) {
        let error = match found {
            Ok(found) => {
                pronunciations.insert(word, found);
                continue;
            }
            Err(error) => error,
        };
        let Some((model, other)) = model.as_ref().and_then(|model| Some((model, model.respelled(word)?)))
        else {
            bad.push(error);
            continue;
        };
        let found = match known.get(other.spelling.as_str()) {
            Some(entries) => Ok(entries.iter().copied().map(of_lexicon).collect()),
            None => model.pronounce_with(&other.spelling, &search),
        };
        match found {
            Ok(found) => {
                pronunciations.insert(word, found);
                respelled.push((word.as_str(), other));
            }
            Err(_) => bad.push(error),
        }
    }
    report_respelled(&respelled);
    report_bad(&bad, new.len(), options.skip_bad)?;
    let mut w = KaldiWriter::create(files.out, false)?;
    for word in &words {
        if let Some(found) = pronunciations.get(word.as_str()) {
            write(&mut w, word, &options, found.iter().map(|p| (p.probability, p.phones.clone())))?;
        } else if let Some(entries) = known.get(word.as_str()).filter(|_| options.copy_known) {
            let phones = |entry: &&Entry| (entry.probability, entry.phones.clone());
            write(&mut w, word, &options, entries.iter().map(phones))?;
        }
    }
    w.finish()?;
    messages::log(&format!(
        "Pronounced {}; the lexicon has {} of the others, {} {} no pronunciation",
        count(pronunciations.len(), "word"),
        words.len() - new.len(),
        bad.len(),
        either(bad.len(), "has", "have")
    ));
    Ok(0)
}

/// Learns the model of --lexicon, or reads it from --cache.
fn learned(lexicon: &Lexicon, options: &Options, threads: NonZero<usize>) -> Result<Model> {
    reports::lexicon(lexicon);
    let mut training = TrainOptions { threads, ..TrainOptions::default() };
    training.align.threads = threads;
    let file = Some(options.cache.as_str()).filter(|file| !file.is_empty());
    let (model, report) = cache::learned(lexicon, &training, file)?;
    match report {
        Some(report) => reports::training(&report, &model.ngrams.sizes()),
        None => messages::log(&format!("The model of the lexicon is in {}", options.cache)),
    }
    Ok(model)
}

/// The pronunciation of a word that the lexicon has.
fn of_lexicon(entry: &Entry) -> Pronunciation<'_> {
    Pronunciation {
        probability: entry.probability,
        phones: entry.phones.iter().map(String::as_str).collect(),
    }
}

/// Words that a line shows as examples.
const EXAMPLES: usize = 5;

/// Says which words are pronounced in another spelling.
fn report_respelled(respelled: &[(&str, Respelled)]) {
    if respelled.is_empty() {
        return;
    }
    let mut signs: Vec<&str> =
        respelled.iter().flat_map(|(_, other)| &other.left_out).map(String::as_str).collect();
    signs.sort_unstable();
    signs.dedup();
    let left_out = match signs.as_slice() {
        [] => String::new(),
        signs => format!("; signs that it lacks are left out: {}", signs.join(" ")),
    };
    let examples: Vec<String> = respelled
        .iter()
        .take(EXAMPLES)
        .map(|(word, other)| format!("'{word}' as '{}'", other.spelling))
        .collect();
    let more = if respelled.len() > EXAMPLES { ", …" } else { "" };
    messages::warn(&format!(
        "{} {} pronounced in letters that the model has: {}{more}{left_out}",
        count(respelled.len(), "word"),
        either(respelled.len(), "is", "are"),
        examples.join(", ")
    ));
}

/// Warns of words without a pronunciation, or stops.
fn report_bad(bad: &[kaldi_g2p::Error], words: usize, skip: bool) -> Result<()> {
    const SHOWN: usize = 10;
    let Some(first) = bad.first() else { return Ok(()) };
    if !skip {
        let more = match bad.len() - 1 {
            0 => String::new(),
            more => format!(" (and {})", count(more, "more word")),
        };
        bail!("{first}{more}; --skip-bad=true leaves such words out");
    }
    for error in bad.iter().take(SHOWN) {
        messages::warn(&error.to_string());
    }
    let (all, are) = (count(words, "word"), either(bad.len(), "is", "are"));
    messages::warn(&format!("{} of {all} {are} left out for lack of a pronunciation", bad.len()));
    Ok(())
}

fn write<S: AsRef<str>>(
    w: &mut KaldiWriter,
    word: &str,
    options: &Options,
    found: impl Iterator<Item = (f64, Vec<S>)> + Clone,
) -> Result<()> {
    let largest = found.clone().map(|(probability, _)| probability).fold(0.0, f64::max);
    for (probability, phones) in found {
        let phones: Vec<&str> = phones.iter().map(AsRef::as_ref).collect();
        let scaled = if options.normalize_max && largest > 0.0 { probability / largest } else { probability };
        let number = if options.probabilities {
            format!("{} ", format_g(scaled.max(LEAST), 6))
        } else {
            String::new()
        };
        w.write_str(&format!("{word} {number}{}\n", phones.join(" ")))?;
    }
    Ok(())
}
