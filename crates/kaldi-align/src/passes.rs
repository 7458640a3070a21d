//! Passes over a corpus: alignment, and sums of statistics. Their results do not depend on the number of threads.

use std::num::NonZero;

use kaldi_gmm::fmllr::FmllrStats;
use kaldi_gmm::mllt::MlltStats;
use kaldi_gmm::{Accumulator, AmDiagGmm, Likelihoods, ModelStats, Parts};
use kaldi_hmm::{TransitionId, TransitionModel};
use kaldi_io::DenseMatrix;

use crate::equal::{equal_path, paused_path};
use crate::error::{Error, Reason, Result};
use crate::features::Front;
use crate::interrupt;
use crate::loudness::Loudness;
use crate::network::{Builder, Hmms, Model, Network, TransitionScales};
use crate::parallel::in_order;
use crate::phone_graph::LexiconGraph;
use crate::random::Numbers;
use crate::recipe::Beams;
use crate::search::{Path, Search};
use crate::utterance::Corpus;

/// Transition-ids of each utterance; `None` for utterances that are not aligned.
pub type Alignments = Vec<Option<Vec<i32>>>;

/// Weights of each utterance's frames; `None` for utterances that are not aligned.
pub type FrameWeights = Vec<Option<Vec<f32>>>;

/// Settings of alignments.
#[derive(Debug, Clone, PartialEq)]
pub struct AlignSettings {
    pub scales: TransitionScales,
    pub acoustic_scale: f32,
    pub beams: Beams,
}

/// A way to the first alignment. Draws with other numbers are other random paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Frames are spread equally over the states of random paths.
    Equal { draw: u64 },
    /// Quiet stretches are silence, and the frames between them are spread equally.
    Pauses { draw: u64 },
}

/// Random paths with pauses that are tried.
const TRIES: usize = 4;

/// A path with its network.
pub struct Found {
    pub network: Network,
    pub path: Path,
    /// The place of the beam that found it.
    pub beam: usize,
}

/// Finds paths for the utterances of one thread, by log-likelihoods of any acoustic model.
pub struct PathFinder<'a> {
    builder: Builder<'a>,
    search: Search,
    lexicon: &'a LexiconGraph,
    settings: &'a AlignSettings,
}

impl<'a> PathFinder<'a> {
    pub fn new(hmms: Hmms<'a>, lexicon: &'a LexiconGraph, settings: &'a AlignSettings) -> PathFinder<'a> {
        PathFinder {
            builder: Builder::new(hmms, settings.scales),
            search: Search::default(),
            lexicon,
            settings,
        }
    }

    /// The network of a transcript.
    ///
    /// # Errors
    /// A word has no pronunciation, or the model lacks a phone.
    pub fn network(&mut self, words: &[u32]) -> std::result::Result<Network, Reason> {
        self.builder.network(&self.lexicon.transcript(words)?)
    }

    /// Finds the best path of a transcript through `frames` frames, whose log-likelihoods by pdf are `get`.
    ///
    /// # Errors
    /// A word has no pronunciation, the model lacks a phone, or no path reaches the end.
    pub fn find(
        &mut self,
        words: &[u32],
        frames: usize,
        get: impl Fn(usize, i32) -> f32,
    ) -> std::result::Result<Found, Reason> {
        let network = self.network(words)?;
        for (number, &beam) in self.settings.beams.0.iter().enumerate() {
            let path = self.search.best_path(&network, frames, &get, self.settings.acoustic_scale, beam);
            if let Some(path) = path {
                return Ok(Found { network, path, beam: number });
            }
            let needed = network.min_frames().unwrap_or(usize::MAX);
            if needed > frames {
                return Err(Reason::TooShort { frames, needed });
            }
            if self.search.was_crowded() {
                return Err(Reason::NoPath { beam });
            }
        }
        Err(Reason::NoPath { beam: self.settings.beams.0.last().copied().unwrap_or_default() })
    }
}

/// Aligns the utterances of one thread with Gaussians.
pub struct Aligner<'a> {
    finder: PathFinder<'a>,
    /// The model's mixtures, or others in place of them.
    gmms: &'a AmDiagGmm,
}

impl<'a> Aligner<'a> {
    pub fn new(
        model: &'a Model,
        gmms: &'a AmDiagGmm,
        lexicon: &'a LexiconGraph,
        settings: &'a AlignSettings,
    ) -> Aligner<'a> {
        Aligner { finder: PathFinder::new(model.hmms(), lexicon, settings), gmms }
    }

    /// The network of a transcript.
    ///
    /// # Errors
    /// A word has no pronunciation, or the model lacks a phone.
    pub fn network(&mut self, words: &[u32]) -> std::result::Result<Network, Reason> {
        self.finder.network(words)
    }

    /// Aligns features with a transcript.
    ///
    /// # Errors
    /// The features do not fit the model.
    pub fn align(
        &mut self,
        features: &DenseMatrix<f32>,
        words: &[u32],
    ) -> Result<std::result::Result<Found, Reason>> {
        let likelihoods = Likelihoods::new(self.gmms, features)?;
        let get = |frame: usize, pdf: i32| likelihoods.get(frame, pdf as usize);
        Ok(self.finder.find(words, features.rows, get))
    }
}

/// Passes over a corpus on so many threads.
#[derive(Debug, Clone, Copy)]
pub struct Passes<'a> {
    pub corpus: &'a Corpus<'a>,
    pub threads: NonZero<usize>,
}

/// The result of an alignment: ids, and the place of the beam.
pub type Outcome = std::result::Result<(Vec<i32>, usize), Reason>;

impl Passes<'_> {
    /// Does `work` for each shard, with a list of its utterances, and folds the results in order.
    fn for_shards<T: Send>(
        &self,
        work: impl Fn(usize, Vec<usize>) -> Result<T> + Sync,
        mut fold: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let corpus = self.corpus;
        let of_shard = |shard: usize| work(shard, corpus.members(shard).collect());
        in_order(self.threads, corpus.shards.len(), of_shard, |result| fold(result?))
    }

    /// Does `work` for each utterance that can be used; others have their reasons.
    pub fn for_utterances<S, T: Send>(
        &self,
        begin: impl Fn() -> S + Sync,
        work: impl Fn(&mut S, usize) -> Result<std::result::Result<T, Reason>> + Sync,
        mut progress: impl FnMut(usize),
    ) -> Result<Vec<std::result::Result<T, Reason>>> {
        let corpus = self.corpus;
        let mut results: Vec<Option<std::result::Result<T, Reason>>> =
            corpus.problems.iter().map(|problem| problem.clone().map(Err)).collect();
        let of_piece = |piece: usize| -> Result<Vec<(usize, std::result::Result<T, Reason>)>> {
            let mut state = begin();
            let members = corpus.pieces[piece].members.iter();
            let one = |&place: &usize| {
                interrupt::check()?;
                Ok((place, work(&mut state, place)?))
            };
            members.map(one).collect()
        };
        in_order(self.threads, corpus.pieces.len(), of_piece, |found: Result<Vec<_>>| {
            let found = found?;
            progress(found.len());
            found.into_iter().for_each(|(place, result)| results[place] = Some(result));
            Ok::<(), Error>(())
        })?;
        Ok(results.into_iter().map(|result| result.unwrap_or(Err(Reason::NoFrames))).collect())
    }

    /// Aligns all utterances without a trained model.
    ///
    /// # Errors
    /// See [`for_utterances`](Self::for_utterances).
    pub fn begin(
        &self,
        model: &Model,
        lexicon: &LexiconGraph,
        settings: &AlignSettings,
        start: Start,
    ) -> Result<Vec<Outcome>> {
        let loudness = match start {
            Start::Pauses { .. } => Some(Loudness::of(self.corpus)),
            Start::Equal { .. } => None,
        };
        let begin = || Aligner::new(model, &model.gmms, lexicon, settings);
        let work = |aligner: &mut Aligner, place: usize| {
            let utterance = &self.corpus.utterances[place];
            let network = match aligner.network(&utterance.words) {
                Ok(network) => network,
                Err(reason) => return Ok(Err(reason)),
            };
            let frames = utterance.features.rows;
            let (Start::Equal { draw } | Start::Pauses { draw }) = start;
            let mut numbers = Numbers::of_key(&utterance.key, draw);
            let paused = loudness.as_ref().and_then(|loudness| {
                let stretches = loudness.stretches(self.corpus.speaker_of[place], &utterance.features);
                let words = utterance.words.len();
                (0..TRIES).find_map(|_| paused_path(&network, words, &stretches, frames, &mut numbers))
            });
            let ids = paused.or_else(|| equal_path(&network, frames, &mut numbers));
            let too_short =
                || Reason::TooShort { frames, needed: network.min_frames().unwrap_or(usize::MAX) };
            Ok(ids.map(|ids| (ids, 0)).ok_or_else(too_short))
        };
        self.for_utterances(begin, work, |_| ())
    }

    /// Aligns all utterances.
    ///
    /// # Errors
    /// The features do not fit the model.
    pub fn align(
        &self,
        front: &Front,
        model: &Model,
        gmms: &AmDiagGmm,
        lexicon: &LexiconGraph,
        settings: &AlignSettings,
    ) -> Result<Vec<Outcome>> {
        let begin = || Aligner::new(model, gmms, lexicon, settings);
        let work = |aligner: &mut Aligner, place: usize| {
            let features = front.features(place)?;
            let found = aligner.align(&features, &self.corpus.utterances[place].words)?;
            Ok(found.map(|found| (found.path.ids, found.beam)))
        };
        self.for_utterances(begin, work, |_| ())
    }

    /// Sums statistics of a model over aligned utterances. Posteriors come from the features of `front`, and what is summed are
    /// these or, if `independent`, features without transforms of speakers.
    ///
    /// # Errors
    /// Features or alignments do not fit the model.
    pub fn model_stats(
        &self,
        front: &Front,
        model: &Model,
        alignments: &Alignments,
        independent: bool,
    ) -> Result<ModelStats> {
        let new = || ModelStats::new(&model.transitions, &model.gmms, model.gmms.dim(), Parts::ALL);
        let of_shard = |_: usize, members: Vec<usize>| {
            let (mut stats, mut accumulator) = (new(), Accumulator::default());
            for place in members {
                let Some(ids) = &alignments[place] else { continue };
                let ids = model.transitions.transition_ids(ids)?;
                let added = if independent { Some(front.independent(place)?) } else { None };
                let features = front.features(place)?;
                for (t, id) in ids.into_iter().enumerate() {
                    let frame = features.row(t);
                    let added = added.as_ref().map_or(frame, |added| added.row(t));
                    stats.add_transition(id, 1.0);
                    accumulator.add(
                        &mut stats,
                        &model.gmms,
                        (model.transitions.pdf(id), 1.0),
                        (frame, added),
                    )?;
                }
            }
            Ok(stats)
        };
        let mut sum = new();
        self.for_shards(of_shard, |stats| merge(&mut sum, &stats))?;
        Ok(sum)
    }

    /// Sums statistics for a maximum-likelihood linear transform over frames that are not silence.
    ///
    /// # Errors
    /// Features or alignments do not fit the model.
    pub fn mllt_stats(
        &self,
        front: &Front,
        model: &Model,
        alignments: &Alignments,
        silence: &[i32],
        rand_prune: f32,
    ) -> Result<MlltStats> {
        let of_shard = |shard: usize, members: Vec<usize>| {
            let (mut stats, mut accumulator) = (MlltStats::new(model.gmms.dim()), Accumulator::default());
            let mut numbers = Numbers::new(shard as u64);
            for place in members {
                let Some(ids) = &alignments[place] else { continue };
                let features = front.features(place)?;
                for (t, id) in spoken(&model.transitions, ids, silence)? {
                    let gmm = model.gmms.pdf(model.transitions.pdf(id))?;
                    let (posteriors, _) = accumulator.posteriors(gmm, features.row(t), 1.0)?;
                    stats.add(gmm, features.row(t), posteriors, rand_prune, &mut || numbers.draw());
                }
            }
            Ok(stats)
        };
        let mut sum = MlltStats::new(model.gmms.dim());
        self.for_shards(of_shard, |stats| Ok(sum.merge(&stats)?))?;
        Ok(sum)
    }

    /// Sums statistics for a transform of each speaker over frames that are not silence, and passes each speaker's to `finish`.
    /// Posteriors are by `by`, parameters are the model's. Features are those of `front`, with its transforms of speakers. Without weights
    /// each frame has the weight 1.
    ///
    /// # Errors
    /// Features or alignments do not fit the model.
    pub fn fmllr_stats(
        &self,
        front: &Front,
        (model, by): (&Model, &AmDiagGmm),
        (alignments, weights): (&Alignments, Option<&FrameWeights>),
        silence: &[i32],
        mut finish: impl FnMut(usize, FmllrStats) -> Result<()>,
    ) -> Result<()> {
        let corpus = self.corpus;
        let of_piece = |piece: usize| -> Result<(usize, FmllrStats)> {
            let (mut stats, mut accumulator) = (FmllrStats::new(model.gmms.dim()), Accumulator::default());
            for &place in &corpus.pieces[piece].members {
                let Some(ids) = &alignments[place] else { continue };
                let features = front.features(place)?;
                let weights = weights.and_then(|weights| weights[place].as_ref());
                for (t, id) in spoken(&model.transitions, ids, silence)? {
                    let weight = weights.map_or(1.0, |weights| weights[t]);
                    if weight == 0.0 {
                        continue;
                    }
                    let pdf = model.transitions.pdf(id);
                    let (posteriors, _) = accumulator.posteriors(by.pdf(pdf)?, features.row(t), weight)?;
                    stats.add(model.gmms.pdf(pdf)?, features.row(t), posteriors);
                }
            }
            stats.commit();
            Ok((corpus.pieces[piece].speaker, stats))
        };
        let mut current: Option<(usize, FmllrStats)> = None;
        in_order(self.threads, corpus.pieces.len(), of_piece, |result| {
            let (speaker, stats) = result?;
            match &mut current {
                Some((now, sum)) if *now == speaker => Ok(sum.merge(stats)?),
                _ => match current.replace((speaker, stats)) {
                    Some((speaker, sum)) => finish(speaker, sum),
                    None => Ok(()),
                },
            }
        })?;
        current.map_or(Ok(()), |(speaker, sum)| finish(speaker, sum))
    }

    /// Sums up what `work` returns for each shard, in order.
    ///
    /// # Errors
    /// Those of `work` and `fold`.
    pub fn sum<T: Send>(
        &self,
        work: impl Fn(Vec<usize>) -> Result<T> + Sync,
        fold: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        self.for_shards(|_, members| work(members), fold)
    }
}

/// Frames of an alignment that are not silence.
pub fn spoken(
    transitions: &TransitionModel,
    ids: &[i32],
    silence: &[i32],
) -> Result<impl Iterator<Item = (usize, TransitionId)>> {
    let ids = transitions.transition_ids(ids)?;
    let is_spoken = |(_, id): &(usize, TransitionId)| !silence.contains(&transitions.phone(*id));
    Ok(ids.into_iter().enumerate().filter(is_spoken).collect::<Vec<_>>().into_iter())
}

/// Adds statistics of the same model.
fn merge(sum: &mut ModelStats, stats: &ModelStats) -> Result<()> {
    sum.transitions.iter_mut().zip(&stats.transitions).for_each(|(sum, count)| *sum += count);
    for (sum, stats) in sum.pdfs.iter_mut().zip(&stats.pdfs) {
        sum.merge(stats)?;
    }
    sum.log_likelihood += stats.log_likelihood;
    sum.frames += stats.frames;
    Ok(())
}
