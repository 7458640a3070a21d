//! A whole job: features, a training or an adaptation, the cutting of long recordings, the alignment.

use std::num::NonZero;
use std::path::Path;

use kaldi_align::Event;
use kaldi_corpus::Corpus;
use kaldi_fst::store::Symbols;
use kaldi_lang::Lang;

use crate::aligned::{LeftOut, Untexted};
use crate::listen::Verdict;
use crate::long::{CutEvent, CutUp};
use crate::outputs::{TextRow, write_texts};
use crate::{
    FeatureSettings, FrameTimes, Model, NetworkModel, Pronunciations, Result, Results, cepstra, long,
};

/// A model of any kind.
pub enum AnyModel {
    /// Gaussians.
    Gaussian(Box<Model>),
    /// Log-likelihoods from a network.
    Network(Box<NetworkModel>),
}

impl AnyModel {
    /// Samples per second, to which recordings are brought.
    pub fn rate(&self) -> u32 {
        match self {
            AnyModel::Gaussian(model) => model.features.rate,
            AnyModel::Network(model) => model.rate,
        }
    }

    /// Names and numbers of phones.
    pub fn phones(&self) -> &Symbols {
        match self {
            AnyModel::Gaussian(model) => &model.phones,
            AnyModel::Network(model) => &model.phones,
        }
    }

    /// Times of frames.
    pub fn times(&self) -> FrameTimes {
        match self {
            AnyModel::Gaussian(model) => model.features.times(),
            AnyModel::Network(model) => model.times,
        }
    }

    /// A text that changes if the features or the frames of the model do.
    pub fn fingerprint(&self) -> String {
        match self {
            AnyModel::Gaussian(model) => format!("{:?}", model.features),
            AnyModel::Network(model) => format!("network {} {:?}", model.rate, model.times),
        }
    }
}

/// The model of a job.
pub enum Begin {
    /// A model that is there.
    Given(AnyModel),
    /// A model that is trained on with the recordings.
    Adapt(Box<Model>),
    /// A model is trained with the recordings, which are brought to this rate in Hz.
    Train(u32),
}

impl Begin {
    /// The rate of the model's sound.
    pub fn rate(&self) -> u32 {
        match self {
            Begin::Given(model) => model.rate(),
            Begin::Adapt(model) => model.features.rate,
            Begin::Train(rate) => FeatureSettings::for_rate(*rate).rate,
        }
    }
}

/// An event of a job.
#[derive(Debug, Clone, PartialEq)]
pub enum JobEvent {
    /// A part of the work begins.
    Part(&'static str),
    /// So much of the work is done, from 0 to 1.
    Share(f64),
    /// An event of a training or an alignment.
    Training(Event),
    /// A search in a long recording begins.
    Search {
        /// The place of its text.
        place: String,
        /// Its length.
        seconds: f64,
        /// The first search or the second.
        search: usize,
        /// The beam; wider ones follow if no path reaches the end.
        beam: f32,
    },
    /// So many long recordings were cut into so many pieces.
    Cut {
        /// Recordings that were cut.
        recordings: usize,
        /// Their pieces.
        pieces: usize,
    },
}

/// A job.
pub struct Job<'j> {
    /// The corpus, with texts in words of the lexicon.
    pub corpus: &'j mut Corpus,
    /// The lexicon, which has the words of the corpus.
    pub pronunciations: &'j Pronunciations,
    /// Words and phones get scores.
    pub with_scores: bool,
    /// No word of a long recording's text is left out.
    pub all_words: bool,
    /// The number of threads.
    pub threads: NonZero<usize>,
}

/// Texts that were listened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listened {
    /// Texts that are not what is said: another text fits better.
    pub wrong: usize,
    /// Others that may not be what is said.
    pub doubtful: usize,
    /// Texts that are not aligned.
    pub lost: usize,
}

/// Hears of a job.
type Hear<'h> = &'h mut dyn FnMut(JobEvent);

/// Passes events of a part on, whose progress is that from one share of the whole to another.
fn hear(events: Hear<'_>, from: f64, to: f64) -> impl FnMut(Event) + '_ {
    move |event: Event| match event {
        Event::Progress(share) => events(JobEvent::Share(from + share * (to - from))),
        other => events(JobEvent::Training(other)),
    }
}

/// Passes events of the cutting on, whose progress is that from one share of the whole to another.
fn cutting(events: Hear<'_>, from: f64, to: f64) -> impl FnMut(CutEvent) + '_ {
    move |event: CutEvent| {
        events(match event {
            CutEvent::Share(share) => JobEvent::Share(from + share * (to - from)),
            CutEvent::Search { place, seconds, search, beam } => {
                JobEvent::Search { place, seconds, search, beam }
            }
        });
    }
}

/// Words without sound, and sound without words.
type Rest = (Vec<LeftOut>, Vec<Untexted>);

/// Tells of the cutting, and returns the words that are left out, and the sound without words.
fn told(cut: CutUp, events: Hear<'_>) -> Rest {
    let CutUp { utterances, pieces, left_out, untexted } = cut;
    if utterances > 0 {
        events(JobEvent::Cut { recordings: utterances, pieces });
    }
    (left_out, untexted)
}

/// The language of a training.
fn trained_lang(pronunciations: &Pronunciations) -> Result<Lang> {
    Ok(Lang::new(&pronunciations.lexicon, &pronunciations.options())?)
}

impl Job<'_> {
    /// Scores the texts with a model that is there, or with one that is trained in a short time, and writes them as a table.
    ///
    /// # Errors
    /// The lexicon does not fit the model, no utterance can be aligned, or the table cannot be written.
    pub fn listen(&self, begin: Begin, table: &Path, events: Hear<'_>) -> Result<Listened> {
        let Job { corpus, pronunciations, threads, .. } = self;
        let share = |events: Hear<'_>, from: f64, to: f64, share: f64| {
            events(JobEvent::Share(from + share * (to - from)));
        };
        let (scores, reasons) = match begin {
            Begin::Given(AnyModel::Network(model)) => {
                let lang = model.lang(pronunciations)?;
                model.listen(&lang, corpus, *threads, |done| share(events, 0.0, 1.0, done))?
            }
            Begin::Given(AnyModel::Gaussian(model)) | Begin::Adapt(model) => {
                let lang = model.lang(pronunciations)?;
                let show = |done| share(events, 0.0, 0.6, done);
                let extracted = cepstra::extract(corpus, &lang, &model.features, *threads, show)?;
                model.listen(&lang, (corpus, &extracted), *threads, &mut hear(events, 0.6, 0.9))?
            }
            Begin::Train(rate) => {
                let lang = trained_lang(pronunciations)?;
                let settings = FeatureSettings::for_rate(rate);
                let show = |done| share(events, 0.0, 0.1, done);
                let extracted = cepstra::extract(corpus, &lang, &settings, *threads, show)?;
                let model =
                    Model::train_quickly(&lang, &extracted, settings, *threads, &mut hear(events, 0.1, 0.8))?;
                model.listen(&lang, (corpus, &extracted), *threads, &mut hear(events, 0.8, 0.95))?
            }
        };
        let rows: Vec<TextRow> = corpus
            .utterances
            .iter()
            .zip(&reasons)
            .map(|(utterance, reason)| TextRow {
                utterance: &utterance.id,
                text: &utterance.text,
                place: &utterance.place,
                reason: reason.as_deref(),
                unknown: pronunciations.lacking_in(&utterance.text),
            })
            .collect();
        write_texts(table, &rows, &scores)?;
        let count = |verdict| (0..rows.len()).filter(|&place| scores.verdict(place) == verdict).count();
        let (wrong, doubtful) = (count(Verdict::Wrong), count(Verdict::Doubtful));
        Ok(Listened { wrong, doubtful, lost: reasons.iter().flatten().count() })
    }

    /// Trains a model if there is none, or trains on one that is there, and passes it to `trained`; then aligns all utterances.
    /// Long ones become several in the corpus.
    ///
    /// # Errors
    /// The lexicon does not fit the model, no utterance can be aligned, or `trained` fails.
    pub fn run(
        mut self,
        begin: Begin,
        mut trained: impl FnMut(&Model) -> Result<()>,
        events: Hear<'_>,
    ) -> Result<Results> {
        let pronunciations = self.pronunciations;
        match begin {
            Begin::Given(AnyModel::Network(model)) => self.run_network(&model, events),
            Begin::Given(AnyModel::Gaussian(model)) => {
                let lang = model.lang(pronunciations)?;
                let extracted = self.features(&lang, &model.features, 0.3, events)?;
                self.finish(&model, &lang, extracted, 0.3, events)
            }
            Begin::Adapt(model) => {
                let lang = model.lang(pronunciations)?;
                let mut extracted = self.features(&lang, &model.features, 0.2, events)?;
                let (left_out, untexted) = self.cut(&model, &lang, &mut extracted, (0.2, 0.25), events)?;
                events(JobEvent::Part("adaptation"));
                let model = model.adapted(&lang, &extracted, self.threads, &mut hear(events, 0.25, 0.7))?;
                trained(&model)?;
                Ok(Results { left_out, untexted, ..self.align(&model, &lang, &extracted, 0.7, events)? })
            }
            Begin::Train(rate) => {
                let lang = trained_lang(pronunciations)?;
                let settings = FeatureSettings::for_rate(rate);
                let extracted = self.features(&lang, &settings, 0.05, events)?;
                let short = long::short_ones(self.corpus, &extracted)?;
                let used = short.as_ref().unwrap_or(&extracted);
                let model = Model::train(&lang, used, settings, self.threads, &mut hear(events, 0.05, 0.85))?;
                trained(&model)?;
                self.finish(&model, &lang, extracted, 0.85, events)
            }
        }
    }

    fn features(
        &self,
        lang: &Lang,
        settings: &FeatureSettings,
        end: f64,
        events: Hear<'_>,
    ) -> Result<cepstra::Extracted> {
        events(JobEvent::Part("features"));
        let show = |share: f64| events(JobEvent::Share(share * end));
        cepstra::extract(self.corpus, lang, settings, self.threads, show)
    }

    fn cut(
        &mut self,
        model: &Model,
        lang: &Lang,
        extracted: &mut cepstra::Extracted,
        (from, to): (f64, f64),
        events: Hear<'_>,
    ) -> Result<Rest> {
        events(JobEvent::Part("cutting"));
        let show = cutting(&mut *events, from, to);
        let inputs = (&mut *self.corpus, extracted);
        let cut = long::cut(&model.system, lang, &model.features, inputs, self.all_words, show)?;
        Ok(told(cut, events))
    }

    fn align(
        &self,
        model: &Model,
        lang: &Lang,
        extracted: &cepstra::Extracted,
        from: f64,
        events: Hear<'_>,
    ) -> Result<Results> {
        events(JobEvent::Part("alignment"));
        let observer = &mut hear(events, from, 1.0);
        let inputs = (&*self.corpus, extracted);
        model.align(lang, self.pronunciations, inputs, self.with_scores, self.threads, observer)
    }

    /// Cuts and aligns.
    fn finish(
        mut self,
        model: &Model,
        lang: &Lang,
        mut extracted: cepstra::Extracted,
        from: f64,
        events: Hear<'_>,
    ) -> Result<Results> {
        let (left_out, untexted) = self.cut(model, lang, &mut extracted, (from, from + 0.05), events)?;
        Ok(Results { left_out, untexted, ..self.align(model, lang, &extracted, from + 0.05, events)? })
    }

    fn run_network(self, model: &NetworkModel, events: Hear<'_>) -> Result<Results> {
        let Job { corpus, pronunciations, with_scores, all_words, threads } = self;
        let lang = model.lang(pronunciations)?;
        events(JobEvent::Part("cutting"));
        let show = cutting(&mut *events, 0.0, 0.2);
        let cut = long::cut_by_network(model, &lang, corpus, all_words, show)?;
        let from = if cut.utterances > 0 { 0.2 } else { 0.0 };
        let (left_out, untexted) = told(cut, events);
        events(JobEvent::Part("alignment"));
        let show = |share: f64| events(JobEvent::Share(from + share * (1.0 - from)));
        let results = model.align(&lang, pronunciations, corpus, with_scores, threads, show)?;
        Ok(Results { left_out, untexted, ..results })
    }
}
