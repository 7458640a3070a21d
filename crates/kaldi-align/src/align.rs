//! Alignment of utterances with a trained system.

use std::num::NonZero;

use kaldi_gmm::AmDiagGmm;
use kaldi_io::DenseMatrix;
use kaldi_lang::Lang;

use crate::boundaries::{BoundarySettings, medians};
use crate::error::{Error, Reason, Result};
use crate::estimate::{self, FmllrSettings};
use crate::features::Front;
use crate::network::Network;
use crate::observer::{Event, Observer};
use crate::passes::{Aligner, Alignments, Found, FrameWeights, Passes};
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
    /// Frames of speech that each speaker's transform was estimated from, by weights; a speaker with at most
    /// [`min_speaker_frames`](crate::AlignOptions::min_speaker_frames) gets none. Empty if the system needs no transforms.
    pub frames: Vec<f64>,
}

/// Weights from 0 to 1 of each utterance's words in the transforms of speakers.
pub type WordWeights = [Vec<f32>];

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

    /// Estimates transforms of speakers by an alignment without transforms, if the system is for features with them. Returns how many
    /// frames each speaker has for that.
    pub(crate) fn find_transforms(
        &self,
        passes: &Passes,
        front: &mut Front,
        lang: &Lang,
        lexicon: &LexiconGraph,
        weights: Option<&WordWeights>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<f64>> {
        let Some(independent) = &self.independent else { return Ok(Vec::new()) };
        let gmms = self.boosted(independent, lang)?;
        let models = (&self.model, independent);
        let settings =
            FmllrSettings { least: self.options.min_speaker_frames, prior: self.options.prior_frames };
        let search = self.options.settings();
        let (alignments, weights) = match weights {
            None => {
                let outcomes = passes.align(front, &self.model, &gmms, lexicon, &search)?;
                (outcomes.into_iter().map(|outcome| Some(outcome.ok()?.0)).collect::<Alignments>(), None)
            }
            Some(weights) => {
                let begin = || Aligner::new(&self.model, &gmms, lexicon, &search);
                let work = |aligner: &mut Aligner, place: usize| {
                    let words = &passes.corpus.utterances[place].words;
                    let found = aligner.align(&*front.features(place)?, words)?;
                    Ok(found.map(|found| {
                        let weights = weights_of_frames(&found, words, &weights[place]);
                        (found.path.ids, weights)
                    }))
                };
                let found = passes.for_utterances(begin, work, |_| ())?;
                let (alignments, weights): (Alignments, FrameWeights) =
                    found.into_iter().map(|found| found.ok().unzip()).unzip();
                (alignments, Some(weights))
            }
        };
        let weighted = (&alignments, weights.as_ref());
        estimate::fmllr(passes, front, models, weighted, &lang.silence, settings, observer)
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
        self.align_weighted(lang, utterances, None, threads, observer)
    }

    /// Does the same as [`align`](Self::align), but frames of a word count in the transforms of speakers by the weight of the word. There is
    /// a list for each utterance with a number from 0 to 1 for each word, such as the confidence of a recogniser.
    ///
    /// # Errors
    /// The language does not fit the system, or the weights do not fit the utterances.
    pub fn align_weighted(
        &self,
        lang: &Lang,
        utterances: &[Utterance],
        weights: Option<&WordWeights>,
        threads: NonZero<usize>,
        observer: &mut dyn Observer,
    ) -> Result<Aligned> {
        if let Some(weights) = weights {
            check_weights(utterances, weights)?;
        }
        let corpus = Corpus::new(utterances, self.cepstra());
        let lexicon = LexiconGraph::new(lang)?;
        let mut front = Front::new(&corpus, self.features.clone(), self.normalized)?;
        let passes = Passes { corpus: &corpus, threads };
        let settings = self.options.settings();
        let frames = self.find_transforms(&passes, &mut front, lang, &lexicon, weights, observer)?;
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
        Ok(Aligned { results, transforms, frames })
    }
}

/// The weights of a path's frames: those of their words, and 1 between words.
fn weights_of_frames(found: &Found, words: &[u32], weights: &[f32]) -> Vec<f32> {
    let (phones, _) = times(&found.network, &found.path, words, None);
    let mut frames = vec![1.0; found.path.ids.len()];
    for phone in phones {
        if let Some(word) = phone.word {
            frames[phone.begin..phone.end].fill(weights[word]);
        }
    }
    frames
}

fn check_weights(utterances: &[Utterance], weights: &WordWeights) -> Result<()> {
    if weights.len() != utterances.len() {
        return Err(Error::data(format!(
            "{} utterances have weights of words: expected {}",
            weights.len(),
            utterances.len()
        )));
    }
    for (utterance, weights) in utterances.iter().zip(weights) {
        if weights.len() != utterance.words.len() {
            return Err(Error::data(format!(
                "{} has {} words and weights of {}",
                utterance.key,
                utterance.words.len(),
                weights.len()
            )));
        }
        if let Some(wrong) = weights.iter().find(|weight| !(0.0..=1.0).contains(*weight)) {
            return Err(Error::data(format!(
                "{} has a word with the weight {wrong}: expected a number from 0 to 1",
                utterance.key
            )));
        }
    }
    Ok(())
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
