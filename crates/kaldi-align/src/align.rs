//! Alignment of utterances with a trained system.

use std::num::NonZero;

use kaldi_gmm::AmDiagGmm;
use kaldi_io::DenseMatrix;
use kaldi_lang::Lang;

use crate::boundaries::{BoundarySettings, medians};
use crate::error::{Reason, Result};
use crate::estimate;
use crate::features::Front;
use crate::network::Network;
use crate::observer::{Event, Observer};
use crate::passes::{Aligner, Alignments, Found, Passes};
use crate::phone_graph::{LexiconGraph, NO_WORD};
use crate::search::Path;
use crate::system::System;
use crate::utterance::{Corpus, Utterance};

/// A phone with its frames.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PhoneTime {
    pub phone: i32,
    /// The place of its word in the transcript; `None` for silence between words.
    pub word: Option<usize>,
    pub begin: usize,
    /// One past its last frame.
    pub end: usize,
    /// Begin and end as fractions of frames; see [`boundaries`](crate::boundaries).
    pub fine: (f64, f64),
}

/// A word with its frames.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WordTime {
    /// The word's number in the language.
    pub word: u32,
    pub begin: usize,
    /// One past its last frame.
    pub end: usize,
    /// Begin and end as fractions of frames.
    pub fine: (f64, f64),
}

/// The alignment of an utterance.
#[derive(Debug, Clone, PartialEq)]
pub struct Alignment {
    /// Transition-ids, one for each frame.
    pub ids: Vec<i32>,
    pub phones: Vec<PhoneTime>,
    /// One for each word of the transcript.
    pub words: Vec<WordTime>,
    /// The log-likelihood of the features, per frame.
    pub log_likelihood: f64,
    /// True if the first beam was too narrow.
    pub retried: bool,
}

impl Alignment {
    /// Times of a path. With `boundaries` they are finer than frames, by the log-likelihoods `get` of frames and pdfs.
    pub fn of(
        found: Found,
        words: &[u32],
        get: impl Fn(usize, i32) -> f32,
        boundaries: Option<&BoundarySettings>,
    ) -> Alignment {
        let Found { network, path, beam } = found;
        let fine = boundaries.map(|settings| medians(&network, &path, get, settings));
        let (phones, words) = times(&network, &path, words, fine.as_deref());
        let log_likelihood = path.acoustic / path.ids.len() as f64;
        Alignment { ids: path.ids, phones, words, log_likelihood, retried: beam > 0 }
    }
}

/// Alignments of utterances.
#[derive(Debug)]
pub struct Aligned {
    /// One for each utterance.
    pub results: Vec<std::result::Result<Alignment, Reason>>,
    /// Speakers with their transforms; `None` if a speaker has too little speech, or the system needs none.
    pub transforms: Vec<(String, Option<DenseMatrix<f32>>)>,
}

impl System {
    /// The dimension of cepstra.
    pub fn cepstra(&self) -> usize {
        use crate::features::FeatureKind::{Deltas, Spliced};
        match &self.features {
            Deltas { order, .. } => self.model.gmms.dim() / (*order as usize + 1),
            Spliced { left, right, lda } => lda.cols / (left + 1 + right),
        }
    }

    /// Mixtures whose silence has other probabilities, as the options say.
    pub(crate) fn boosted(&self, gmms: &AmDiagGmm, lang: &Lang) -> Result<AmDiagGmm> {
        estimate::boosted(&self.model, gmms, lang.optional_silence, self.options.boost_silence)
    }

    /// Estimates transforms of speakers by an alignment without transforms, if the system is for features with them.
    pub(crate) fn find_transforms(
        &self,
        passes: &Passes,
        front: &mut Front,
        lang: &Lang,
        lexicon: &LexiconGraph,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let Some(independent) = &self.independent else { return Ok(()) };
        let gmms = self.boosted(independent, lang)?;
        let outcomes = passes.align(front, &self.model, &gmms, lexicon, &self.options.settings())?;
        let alignments: Alignments = outcomes.into_iter().map(|outcome| Some(outcome.ok()?.0)).collect();
        let models = (&self.model, independent);
        let least = self.options.min_speaker_frames;
        estimate::fmllr(passes, front, models, &alignments, &lang.silence, least, observer)
    }

    /// Aligns utterances. A system with transforms of speakers does so in two passes.
    ///
    /// # Errors
    /// The language does not fit the system.
    pub fn align(
        &self,
        lang: &Lang,
        utterances: &[Utterance],
        threads: NonZero<usize>,
        observer: &mut dyn Observer,
    ) -> Result<Aligned> {
        let corpus = Corpus::new(utterances, self.cepstra());
        let lexicon = LexiconGraph::new(lang)?;
        let mut front = Front::new(&corpus, self.features.clone(), self.normalized)?;
        let passes = Passes { corpus: &corpus, threads };
        let settings = self.options.settings();
        self.find_transforms(&passes, &mut front, lang, &lexicon, observer)?;
        let gmms = self.boosted(&self.model.gmms, lang)?;
        let begin = || Aligner::new(&self.model, &gmms, &lexicon, &settings);
        let work = |aligner: &mut Aligner, place: usize| {
            let words = &utterances[place].words;
            let features = front.features(place)?;
            let found = aligner.align(&features, words)?;
            let likelihoods = kaldi_gmm::Likelihoods::new(&gmms, &features)?;
            let get = |t: usize, pdf: i32| likelihoods.get(t, pdf as usize);
            Ok(found.map(|found| Alignment::of(found, words, get, self.options.boundaries.as_ref())))
        };
        let (mut done, all) = (0, utterances.len().max(1));
        let results = passes.for_utterances(begin, work, |count| {
            done += count;
            observer.event(Event::Progress(done as f64 / all as f64));
        })?;
        let aligned = results.iter().filter(|result| result.is_ok()).count();
        let retried = results.iter().flatten().filter(|alignment| alignment.retried).count();
        observer.event(Event::Aligned { aligned, retried, failed: results.len() - aligned });
        let transforms = corpus.speakers.iter().cloned().zip(front.transforms().iter().cloned()).collect();
        Ok(Aligned { results, transforms })
    }
}

/// The phones and words of a path. `fine` has the beginnings of all phones and the end, in frames with fractions; without it, they
/// are those of the path.
pub fn times(
    network: &Network,
    path: &Path,
    words: &[u32],
    fine: Option<&[f64]>,
) -> (Vec<PhoneTime>, Vec<WordTime>) {
    let mut phones: Vec<PhoneTime> = Vec::new();
    let mut last = None;
    for (t, &node) in path.nodes.iter().enumerate() {
        let number = network.nodes[node as usize].instance;
        let instance = network.instances[number as usize];
        match phones.last_mut() {
            Some(phone) if last == Some(number) => phone.end = t + 1,
            _ => {
                let word = (instance.word != NO_WORD).then_some(instance.word as usize);
                let fine = Default::default();
                phones.push(PhoneTime { phone: instance.phone, word, begin: t, end: t + 1, fine });
            }
        }
        last = Some(number);
    }
    for (number, phone) in phones.iter_mut().enumerate() {
        let at = |place: usize, frame: usize| {
            fine.and_then(|fine| fine.get(place)).copied().unwrap_or(frame as f64)
        };
        phone.fine = (at(number, phone.begin), at(number + 1, phone.end));
    }
    let mut times: Vec<WordTime> = Vec::new();
    let mut phone = phones.iter().peekable();
    let mut now = (0, 0.0);
    for (place, &word) in words.iter().enumerate() {
        while phone.peek().is_some_and(|phone| phone.word.is_none_or(|of| of < place)) {
            now = phone.next().map_or(now, |phone| (phone.end, phone.fine.1));
        }
        // (A word whose pronunciation is empty has no frames.)
        let begin = phone
            .peek()
            .filter(|phone| phone.word == Some(place))
            .map_or(now, |phone| (phone.begin, phone.fine.0));
        now = begin;
        while phone.peek().is_some_and(|phone| phone.word == Some(place)) {
            now = phone.next().map_or(now, |phone| (phone.end, phone.fine.1));
        }
        times.push(WordTime { word, begin: begin.0, end: now.0, fine: (begin.1, now.1) });
    }
    (phones, times)
}
