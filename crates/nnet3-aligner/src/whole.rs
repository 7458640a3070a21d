//! A whole alignment by one call, for callers who want intervals and no folder.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kaldi_aligner::interrupt::{self, Answer};
use kaldi_aligner::{AnyModel, Begin, Job, JobEvent, Model, Pronunciations, Results, Source, Unknown};
use kaldi_corpus::vocabulary::{self, Missing, Policy};
use kaldi_corpus::{Corpus, Input, Options, read};
use kaldi_io::filename::as_path;

use crate::{Error, Opened, Result};

/// Input and settings of an alignment. The lexicon and the model are paths, and never commands.
pub struct Request {
    /// The recordings and their texts.
    pub input: Input,
    /// Settings of reading.
    pub reading: Options,
    /// A file, `letters` (each letter is a sound), or `model` (the lexicon within a recogniser).
    pub lexicon: String,
    /// A model that is there; without one, a model is trained.
    pub model: Option<PathBuf>,
    /// True if the model is trained on with the recordings.
    pub adapt: bool,
    /// The folder to which a trained or adapted model is written.
    pub save_model: Option<PathBuf>,
    /// The treatment of words that the lexicon lacks.
    pub unknown: Unknown,
    /// True if words and phones get scores.
    pub with_scores: bool,
    /// True if no word of a long recording's text is left out.
    pub all_words: bool,
    /// Groups of letters that are one phone each, for a lexicon of letters.
    pub digraphs: Vec<String>,
    /// The number of threads.
    pub threads: NonZero<usize>,
}

/// The alignment of a corpus.
pub struct Outcome {
    /// The corpus, with texts in words of the lexicon, its losses and oddities. Long recordings are several utterances.
    pub corpus: Corpus,
    /// The alignments of its utterances.
    pub results: Results,
    /// Words that the lexicon lacks.
    pub missing: Vec<Missing>,
    /// Oddities of the model and of the lexicon.
    pub warnings: Vec<String>,
}

/// The rate in Hz for recordings whose rates are not known.
const DEFAULT_RATE: u32 = 16_000;

/// The lexicon of that name.
fn pronunciations(name: &str, opened: Option<&Opened>) -> Result<Pronunciations> {
    match name {
        "model" if !Path::new(name).is_file() => match opened.map(Opened::lexicon).transpose()?.flatten() {
            Some(pronunciations) => Ok(pronunciations),
            None => Err(Error::Request(
                "the lexicon 'model': expected a recogniser as model, which has one".to_owned(),
            )),
        },
        "letters" if !Path::new(name).is_file() => Ok(Pronunciations::new(Source::Letters)?),
        file => Ok(as_path(|| Pronunciations::new(Source::File(file.to_owned())))?),
    }
}

fn check() -> Result<()> {
    Ok(interrupt::check().map_err(kaldi_aligner::Error::from)?)
}

/// The settings of a reading that ends early if the work of this thread does.
fn while_wanted(reading: Options) -> Options {
    let answer = interrupt::answer();
    let is_wanted = move || !interrupt::is_over() && !answer.as_ref().is_some_and(Answer::is_over);
    Options { is_wanted: Some(Arc::new(is_wanted)), ..reading }
}

/// Aligns a corpus. Utterances that cannot be used or aligned are faults of the corpus and reasons in the results. Within
/// [`kaldi_aligner::interrupt::while_wanted`] it can be ended early.
///
/// # Errors
/// The input, the lexicon or the model cannot be read; the model cannot be trained on; no utterance can be aligned; or the work is
/// interrupted.
pub fn align(request: Request, events: &mut dyn FnMut(JobEvent)) -> Result<Outcome> {
    check()?;
    let opened = request.model.as_deref().map(|model| as_path(|| Opened::open(model))).transpose()?;
    let mut pronunciations = pronunciations(&request.lexicon, opened.as_ref())?;
    if !request.digraphs.is_empty() {
        pronunciations.set_digraphs(&request.digraphs)?;
    }
    let mut warnings = pronunciations.warnings.clone();
    warnings.extend(opened.iter().flat_map(|opened| opened.warnings.iter().cloned()));
    let corpus = read(&request.input, &while_wanted(request.reading));
    check()?;
    let mut corpus = corpus.map_err(kaldi_aligner::Error::from)?;
    let policy = if request.unknown == Unknown::Skip { Policy::Lose } else { Policy::Keep };
    let rule = pronunciations.words.rule();
    if let Some(opened) = &opened {
        pronunciations.limit(opened.model.phones());
    }
    let unusable = |word: &str| pronunciations.unusable(word);
    let missing = vocabulary::apply(&mut corpus, &rule, &pronunciations.words, &unusable, policy);
    warnings.extend(pronunciations.warning_of_language(&corpus, &missing));
    let rate = corpus.common_rate();
    if let Some(rate) = rate {
        corpus.require_rate(rate.min(opened.as_ref().map_or(rate, |opened| opened.model.rate())));
    }
    if corpus.utterances.is_empty() {
        return Err(Error::Request("no utterance is left".to_owned()));
    }
    if request.unknown == Unknown::G2p {
        // (No file: nothing is kept.)
        pronunciations.guess(&corpus, Path::new(""), request.threads)?;
        check()?;
    }
    pronunciations.complete(&corpus, request.unknown)?;
    if let Some(AnyModel::Gaussian(model)) = opened.as_ref().map(|opened| &opened.model) {
        warnings.extend(model.warning_of_speech(&pronunciations, request.unknown, &corpus));
    }
    if opened.is_none() {
        warnings.extend(kaldi_aligner::warning_of_little_speech(&corpus));
    }
    let begin = match (opened.map(|opened| opened.model), request.adapt) {
        (Some(AnyModel::Network(_)), true) => {
            let message = "`adapt`: a neural network cannot be trained on here, a model of Gaussians can";
            return Err(Error::Request(message.to_owned()));
        }
        (None, true) => {
            return Err(Error::Request("`adapt`: expected a model that is trained on".to_owned()));
        }
        (Some(AnyModel::Gaussian(model)), true) => Begin::Adapt(model),
        (Some(model), false) => Begin::Given(model),
        (None, false) => Begin::Train(rate.unwrap_or(DEFAULT_RATE)),
    };
    let saved = request.save_model.as_deref();
    if let (Some(folder), Begin::Given(_)) = (saved, &begin) {
        let message = format!("`save_model`={}: no model is trained, as one is given", folder.display());
        return Err(Error::Request(message));
    }
    let Request { with_scores, all_words, threads, .. } = request;
    let job = Job { corpus: &mut corpus, pronunciations: &pronunciations, with_scores, all_words, threads };
    let save = |model: &Model| {
        interrupt::check()?;
        saved.map_or(Ok(()), |folder| as_path(|| model.save(folder)))
    };
    let results = job.run(begin, save, events)?;
    if results.utterances.iter().all(std::result::Result::is_err) {
        let first = results.utterances.iter().find_map(|result| result.as_ref().err());
        let message = format!("no utterance could be aligned: {}", first.map_or("", String::as_str));
        return Err(Error::Request(message));
    }
    Ok(Outcome { corpus, results, missing, warnings })
}
