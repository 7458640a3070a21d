//! The steps of an alignment job, with a bar.

use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use kaldi_align::Event;
use kaldi_aligner::outputs::{TextRow, write_texts};
use kaldi_aligner::{FeatureSettings, Model, Pronunciations, Results, cepstra, long};
use kaldi_corpus::Corpus;
use nnet3::messages;
use nnet3::progress::{self, Counter};

/// Steps of the bar: up to the end of features, of the training, and of all.
const FEATURES: u64 = 50;
const TRAINED: u64 = 850;
const ALL: u64 = 1000;
/// Steps of the cutting of long recordings.
const CUTTING: u64 = 50;

/// A model that is there, or the rate of the recordings for which one is trained.
pub enum Begin {
    Model(Box<Model>),
    Rate(u32),
}

/// A job.
pub struct Job<'j> {
    pub corpus: &'j mut Corpus,
    pub pronunciations: &'j Pronunciations,
    pub with_scores: bool,
    pub threads: NonZero<usize>,
}

impl Job<'_> {
    /// Scores the texts with a model that is there, or with monophones that are trained. Returns the number of doubtful texts and
    /// of those that are not aligned.
    pub fn listen(&self, begin: Begin, table: &Path) -> Result<(usize, usize)> {
        let (bar, told) = (progress::steps("steps", ALL), AtomicUsize::new(0));
        let Job { corpus, pronunciations, threads, .. } = self;
        let show = |from: u64, to: u64, share: f64| bar.set(from + (share * (to - from) as f64) as u64);
        let mut train = |event: Event| hear(event, &bar, &told, |share| show(200, 700, share));
        let (model, lang, extracted) = match begin {
            Begin::Model(model) => {
                let lang = model.lang(pronunciations)?;
                let features = &model.features;
                let extracted =
                    cepstra::extract(corpus, &lang, features, *threads, |share| show(0, 700, share))?;
                (*model, lang, extracted)
            }
            Begin::Rate(rate) => {
                let lang = kaldi_lang::Lang::new(&pronunciations.lexicon, &pronunciations.options())?;
                let settings = FeatureSettings::for_rate(rate);
                let extracted =
                    cepstra::extract(corpus, &lang, &settings, *threads, |share| show(0, 200, share))?;
                (Model::train_quickly(&lang, &extracted, settings, *threads, &mut train)?, lang, extracted)
            }
        };
        let mut align = |event: Event| hear(event, &bar, &told, |share| show(700, 850, share));
        let (scores, reasons) = model.listen(&lang, (corpus, &extracted), *threads, &mut align)?;
        let rows: Vec<TextRow> = corpus
            .utterances
            .iter()
            .zip(&reasons)
            .map(|(utterance, reason)| TextRow {
                utterance: &utterance.id,
                text: &utterance.text,
                place: &utterance.place,
                reason: reason.as_deref(),
            })
            .collect();
        write_texts(table, &rows, &scores)?;
        let doubtful = (0..rows.len()).filter(|&place| scores.is_doubtful(place)).count();
        Ok((doubtful, reasons.iter().flatten().count()))
    }

    /// Trains a model if there is none, and passes it to `trained`; then aligns all utterances. Long ones become several in the
    /// corpus.
    pub fn run(self, begin: Begin, trained: impl FnOnce(&Model) -> Result<()>) -> Result<Results> {
        let (bar, told) = (progress::steps("steps", ALL), AtomicUsize::new(0));
        let Job { corpus, pronunciations, with_scores, threads } = self;
        let (settings, lang, model) = match begin {
            Begin::Model(model) => (model.features.clone(), model.lang(pronunciations)?, Some(*model)),
            Begin::Rate(rate) => {
                let lang = kaldi_lang::Lang::new(&pronunciations.lexicon, &pronunciations.options())?;
                (FeatureSettings::for_rate(rate), lang, None)
            }
        };
        let (features_end, trained_end) = if model.is_some() { (300, 300) } else { (FEATURES, TRAINED) };
        let show = |from: u64, to: u64, share: f64| bar.set(from + (share * (to - from) as f64) as u64);
        bar.note("features".to_owned());
        let mut extracted =
            cepstra::extract(corpus, &lang, &settings, threads, |share| show(0, features_end, share))?;
        let model = match model {
            Some(model) => model,
            None => {
                let mut observer =
                    |event: Event| hear(event, &bar, &told, |share| show(features_end, trained_end, share));
                let model = match long::short_ones(corpus, &extracted)? {
                    Some(short) => Model::train(&lang, &short, settings.clone(), threads, &mut observer)?,
                    None => Model::train(&lang, &extracted, settings.clone(), threads, &mut observer)?,
                };
                trained(&model)?;
                model
            }
        };
        bar.note("cutting".to_owned());
        let show_cut = |share| show(trained_end, trained_end + CUTTING, share);
        let (cut, pieces) =
            long::cut(&model.system, &lang, &model.features, corpus, &mut extracted, show_cut)?;
        if cut > 0 {
            messages::log(&format!("{cut} long recordings were cut into {pieces} utterances"));
        }
        bar.note("alignment".to_owned());
        let from = trained_end + CUTTING;
        let mut observer = |event: Event| hear(event, &bar, &told, |share| show(from, ALL, share));
        let inputs = (&*corpus, &extracted);
        let results = model.align(&lang, pronunciations, inputs, with_scores, threads, &mut observer)?;
        match told.into_inner().saturating_sub(WARNINGS) {
            0 => {}
            more => messages::warn(&format!("… and {more} more warnings of the training")),
        }
        Ok(results)
    }
}

/// Warnings of a training that are shown.
const WARNINGS: usize = 5;

/// Tells people of an event. `told` counts warnings.
fn hear(event: Event, bar: &Counter, told: &AtomicUsize, show: impl Fn(f64)) {
    match event {
        Event::Progress(share) => show(share),
        Event::Stage { kind, utterances, leaves, gaussians, .. } => {
            bar.note(kind.name().to_owned());
            let tree = if leaves > 0 { format!("at most {leaves} leaves and ") } else { String::new() };
            messages::log(&format!("{}: {utterances} utterances, {tree}{gaussians} Gaussians", kind.name()));
        }
        Event::Transforms { speakers, without, improvement } => messages::log(&format!(
            "transforms of {speakers} speakers improve the log-likelihood of a frame by {improvement:.3}; {without} speakers have too little speech"
        )),
        // (A tree has one for each leaf with few frames.)
        Event::Warning(message) if told.fetch_add(1, Ordering::Relaxed) < WARNINGS => {
            messages::warn(&message)
        }
        Event::Warning(_) => {}
        Event::Message(message) => messages::log(&message),
        Event::Aligned { .. } | Event::Iteration { .. } | Event::Tree { .. } => {}
    }
}

/// Says how many utterances were aligned, and why others were not.
pub fn tell(corpus: &Corpus, results: &Results, table: &Path) -> usize {
    let mut faults: Vec<(&str, &str)> = Vec::new();
    let (mut aligned, mut seconds, mut retried) = (0, 0.0, 0);
    for (utterance, result) in corpus.utterances.iter().zip(&results.utterances) {
        match result {
            Ok(found) => {
                aligned += 1;
                retried += usize::from(found.retried);
                seconds += corpus.seconds(utterance);
            }
            Err(reason) => faults.push((&utterance.place, reason)),
        }
    }
    for (place, reason) in faults.iter().take(5) {
        messages::warn(&format!("{place} is not aligned: {reason}"));
    }
    if faults.len() > 5 {
        messages::warn(&format!("… and {} more, see {}", faults.len() - 5, table.display()));
    }
    messages::log(&format!(
        "{} in, {aligned} utterances ({:.3} h) aligned, {retried} of them with a wider beam; {} not aligned",
        corpus.kept(),
        seconds / 3600.0,
        faults.len()
    ));
    aligned
}
