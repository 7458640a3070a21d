//! Wrong transcripts: the alignment of an utterance with its text, beside a loop of all phones.
//!
//! The loop has the phones in context that the texts have, each after each. The score of a text is the log-likelihood of the
//! features along the alignment less that along the best path through the loop, per frame that is aligned with speech. It is
//! far below those of the others if something else was said, or if the sound is bad. So a doubtful text is compared with other texts of
//! the corpus: it is wrong if one of these explains the sound clearly better.

use std::num::NonZero;

use kaldi_align::align::Aligned;
use kaldi_align::features::Front;
use kaldi_align::network::{Builder, Hmms, Network, Node};
use kaldi_align::passes::{AlignSettings, Passes, PathFinder};
use kaldi_align::phone_graph::LexiconGraph;
use kaldi_align::utterance::Corpus;
use kaldi_align::{AlignOptions, Alignment, System, Utterance};
use kaldi_gmm::Likelihoods;
use kaldi_hmm::TransitionModel;
use kaldi_lang::Lang;
use rustc_hash::FxHashMap;

use crate::Result;
use crate::others::{Beside, Texts};
use crate::scores::{longest_usual, low_outliers};

/// The least distance of a doubtful text from the median score.
const LEAST_DISTANCE: f64 = 0.5;

/// Scores of the texts of utterances.
#[derive(Debug, Clone, PartialEq)]
pub struct TextScores {
    /// One for each utterance; `None` for one that is not aligned.
    pub scores: Vec<Option<f64>>,
    /// Texts with lower scores are doubtful; `None` if there are too few texts to tell.
    pub doubtful_below: Option<f64>,
    /// Doubtful texts beside those of other utterances.
    pub beside: Vec<Beside>,
    /// The seconds of the longest sound of a text, if that is much longer than usual: more may be said than the text has.
    pub long_sounds: Vec<Option<f64>>,
}

/// The verdict about a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// There is no alignment.
    NotAligned,
    /// Another text explains the sound clearly better; or no other one can be aligned, and the loop of phones explains it much better.
    Wrong,
    /// The score is far below those of most, or a sound is much longer than others.
    Doubtful,
    /// The text is what is said.
    Fits,
}

/// A text is wrong if another one has so much more log-likelihood, per frame of speech.
const CLEARLY: f64 = 0.2;
/// A text that has no other beside it is wrong if its score is lower.
const MUCH: f64 = -5.0;

impl TextScores {
    /// Finds the score below which texts are doubtful.
    pub(crate) fn new(scores: Vec<Option<f64>>) -> TextScores {
        let mut known: Vec<f64> = scores.iter().flatten().copied().collect();
        known.sort_by(f64::total_cmp);
        // (Where nearly all scores are equal, small distances say nothing.)
        let least = known.get(known.len() / 2).map_or(0.0, |median| median - LEAST_DISTANCE);
        let doubtful_below = low_outliers(known.into_iter()).map(|below| below.min(least));
        let beside = vec![Beside::Best; scores.len()];
        let long_sounds = vec![None; scores.len()];
        TextScores { scores, doubtful_below, beside, long_sounds }
    }

    /// Finds texts with sounds that are too long, in their alignments with frames of so many seconds.
    pub(crate) fn find_long_sounds<'a>(
        &mut self,
        alignments: impl Iterator<Item = Option<&'a Alignment>>,
        frame: f64,
    ) {
        let seconds = |alignment: &Alignment| -> Vec<f64> {
            let spoken = alignment.phones.iter().filter(|phone| phone.word.is_some());
            spoken.map(|phone| (phone.end - phone.begin) as f64 * frame).collect()
        };
        let all: Vec<Vec<f64>> =
            alignments.map(|alignment| alignment.map(seconds).unwrap_or_default()).collect();
        let Some(limit) = longest_usual(all.iter().flatten().copied()) else { return };
        let longest = |own: &Vec<f64>| own.iter().copied().fold(0.0, f64::max);
        self.long_sounds =
            all.iter().map(|own| Some(longest(own)).filter(|longest| *longest >= limit)).collect();
    }

    /// The verdict about a text.
    pub fn verdict(&self, place: usize) -> Verdict {
        let Some(score) = self.scores[place] else { return Verdict::NotAligned };
        if !self.is_doubtful(place) {
            return if self.long_sounds[place].is_some() { Verdict::Doubtful } else { Verdict::Fits };
        }
        match &self.beside[place] {
            Beside::Worse { gain, .. } if *gain > CLEARLY => Verdict::Wrong,
            Beside::Alone if score < MUCH => Verdict::Wrong,
            _ => Verdict::Doubtful,
        }
    }

    /// True if the text has a score that is far below those of most.
    pub fn is_doubtful(&self, place: usize) -> bool {
        self.scores[place].zip(self.doubtful_below).is_some_and(|(score, least)| score < least)
    }
}

/// Scores the texts of aligned utterances. `aligned` is the result of [`System::align`] for the same utterances.
///
/// # Errors
/// The language does not fit the system.
pub fn text_scores(
    system: &System,
    lang: &Lang,
    utterances: &[Utterance],
    aligned: &Aligned,
    threads: NonZero<usize>,
) -> Result<TextScores> {
    let corpus = Corpus::new(utterances, system.cepstra());
    let mut front = Front::new(&corpus, system.features.clone(), system.normalized)?;
    front.set_transforms(aligned.transforms.iter().map(|(_, transform)| transform.clone()).collect());
    let texts = utterances.iter().map(|utterance| &utterance.words[..]);
    let phones = PhoneLoop::of_texts(system.model.hmms(), &system.options, lang, texts)?;
    let transitions = &system.model.transitions;
    let work = |search: &mut LoopSearch, place: usize| {
        let Ok(alignment) = &aligned.results[place] else { return Ok(Ok(None)) };
        let features = front.features(place)?;
        let likelihoods = Likelihoods::new(&system.model.gmms, &features)?;
        let get = |frame: usize, pdf: i32| likelihoods.get(frame, pdf as usize);
        Ok(Ok(text_score(&phones, search, transitions, alignment, get, &system.options)?))
    };
    let passes = Passes { corpus: &corpus, threads };
    let results = passes.for_utterances(LoopSearch::default, work, |_| ())?;
    let mut scores = TextScores::new(results.into_iter().map(|result| result.ok().flatten()).collect());
    let texts = Texts::new(lang, utterances.iter().map(|utterance| &utterance.words[..]));
    let (lexicon, settings) = (LexiconGraph::new(lang)?, others_settings(&system.options));
    let begin = || PathFinder::new(system.model.hmms(), &lexicon, &settings);
    let work = |finder: &mut PathFinder, place: usize| {
        let Some(alignment) = aligned.results[place].as_ref().ok().filter(|_| scores.is_doubtful(place))
        else {
            return Ok(Ok(Beside::Best));
        };
        let features = front.features(place)?;
        let likelihoods = Likelihoods::new(&system.model.gmms, &features)?;
        let get = |frame: usize, pdf: i32| likelihoods.get(frame, pdf as usize);
        Ok(Ok(texts.compare(finder, lang, (place, &utterances[place].words, alignment), get)))
    };
    let beside = passes.for_utterances(begin, work, |_| ())?;
    scores.beside = beside.into_iter().map(|result| result.unwrap_or(Beside::Best)).collect();
    Ok(scores)
}

/// Settings of the search for other texts: one that is right needs no very wide beam.
pub(crate) fn others_settings(options: &AlignOptions) -> AlignSettings {
    let mut settings = options.settings();
    settings.beams.0.truncate(2);
    settings
}

/// The score of an aligned text; `None` if there is no path through the loop.
pub(crate) fn text_score(
    phones: &PhoneLoop,
    search: &mut LoopSearch,
    transitions: &TransitionModel,
    alignment: &Alignment,
    get: impl Fn(usize, i32) -> f32,
    options: &AlignOptions,
) -> kaldi_align::Result<Option<f64>> {
    let ids = transitions.transition_ids(&alignment.ids)?;
    let frames = ids.len();
    let forced: f64 =
        ids.iter().enumerate().map(|(frame, id)| f64::from(get(frame, transitions.pdf(*id)))).sum();
    let best = search.best(phones, frames, get, options);
    Ok(best.map(|best| (forced - best) / spoken_frames(alignment).max(1) as f64))
}

/// Frames of phones of words.
pub(crate) fn spoken_frames(alignment: &Alignment) -> usize {
    alignment.phones.iter().filter(|phone| phone.word.is_some()).map(|phone| phone.end - phone.begin).sum()
}

/// The HMMs of phones in context, from each of which paths lead to each.
#[derive(Debug, Default)]
pub(crate) struct PhoneLoop {
    nodes: Vec<Node>,
    /// Arcs within phones.
    arcs: Vec<Vec<(u32, f32)>>,
    entries: Vec<u32>,
    is_exit: Vec<bool>,
    /// The cost of a phone.
    phone_cost: f64,
}

impl PhoneLoop {
    /// Takes each HMM of the texts once.
    pub(crate) fn of_texts<'t>(
        hmms: Hmms,
        options: &AlignOptions,
        lang: &Lang,
        texts: impl Iterator<Item = &'t [u32]>,
    ) -> Result<PhoneLoop> {
        let mut builder = Builder::new(hmms, options.settings().scales);
        let lexicon = LexiconGraph::new(lang)?;
        let mut phones = PhoneLoop::default();
        let mut known: FxHashMap<Vec<(i32, i32)>, ()> = FxHashMap::default();
        for words in texts {
            // (A text that has no network is not aligned either.)
            let Ok(graph) = lexicon.transcript(words) else { continue };
            if let Ok(network) = builder.network(&graph) {
                phones.add(&network, &mut known);
            }
        }
        // (All phones are equally likely, whatever their contexts.)
        let count = lang.silence.len() + lang.nonsilence.len();
        phones.phone_cost = (count.max(1) as f64).ln();
        Ok(phones)
    }

    fn add(&mut self, network: &Network, known: &mut FxHashMap<Vec<(i32, i32)>, ()>) {
        let mut begin = 0;
        while begin < network.nodes.len() {
            let instance = network.nodes[begin].instance;
            let len = network.nodes[begin..].iter().take_while(|node| node.instance == instance).count();
            let members = begin..begin + len;
            begin += len;
            let key =
                network.nodes[members.clone()].iter().map(|node| (node.first_id, node.loop_id)).collect();
            if known.insert(key, ()).is_some() {
                continue;
            }
            let base = self.nodes.len() as u32;
            let inside = |to: u32| members.contains(&(to as usize));
            let mut is_entered = vec![true; len];
            for node in members.clone() {
                let arcs = network.arcs(node as u32);
                let own: Vec<(u32, f32)> = arcs
                    .iter()
                    .filter(|(to, _)| inside(*to))
                    .map(|&(to, cost)| (base + to - members.start as u32, cost))
                    .collect();
                own.iter().for_each(|(to, _)| is_entered[(to - base) as usize] = false);
                let leaves = arcs.len() > own.len() || network.finals[node].is_finite();
                self.nodes.push(network.nodes[node]);
                self.arcs.push(own);
                self.is_exit.push(leaves);
            }
            // (Nodes that no node of the phone leads to begin it.)
            self.entries.extend((0..len as u32).filter(|&n| is_entered[n as usize]).map(|n| base + n));
        }
    }
}

/// A path to a node: its cost, and the log-likelihood of its frames.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    cost: f64,
    acoustic: f64,
}

const NO_ARRIVAL: Arrival = Arrival { cost: f64::INFINITY, acoustic: 0.0 };

impl Arrival {
    fn improve(&mut self, other: Arrival) {
        if other.cost < self.cost {
            *self = other;
        }
    }
}

/// Memory of a search.
#[derive(Debug, Default)]
pub(crate) struct LoopSearch {
    now: Vec<Arrival>,
    next: Vec<Arrival>,
}

impl LoopSearch {
    /// Returns the log-likelihood of the frames along the best path; `None` if there is no path.
    fn best(
        &mut self,
        phones: &PhoneLoop,
        frames: usize,
        log_likelihood: impl Fn(usize, i32) -> f32,
        options: &AlignOptions,
    ) -> Option<f64> {
        let scale = f64::from(options.acoustic_scale);
        let beam = f64::from(options.beams.0.first().copied().unwrap_or(10.0));
        self.now.clear();
        self.now.resize(phones.nodes.len(), NO_ARRIVAL);
        // The best end of a phone.
        let mut end = Arrival { cost: 0.0, acoustic: 0.0 };
        let mut limit = f64::INFINITY;
        for frame in 0..frames {
            self.next.clear();
            self.next.resize(phones.nodes.len(), NO_ARRIVAL);
            let step = |from: Arrival, cost: f32, pdf: i32| {
                let local = f64::from(log_likelihood(frame, pdf));
                Arrival { cost: from.cost + f64::from(cost) - scale * local, acoustic: from.acoustic + local }
            };
            for (number, node) in phones.nodes.iter().enumerate() {
                let from = self.now[number];
                if from.cost > limit {
                    continue;
                }
                if node.loop_id != 0 {
                    self.next[number].improve(step(from, node.loop_cost, node.loop_pdf));
                }
                for &(to, cost) in &phones.arcs[number] {
                    let next = &phones.nodes[to as usize];
                    self.next[to as usize].improve(step(from, cost + next.first_cost, next.first_pdf));
                }
            }
            if end.cost <= limit {
                let from = Arrival { cost: end.cost + phones.phone_cost, ..end };
                for &to in &phones.entries {
                    let next = &phones.nodes[to as usize];
                    self.next[to as usize].improve(step(from, next.first_cost, next.first_pdf));
                }
            }
            let best = self.next.iter().map(|arrival| arrival.cost).fold(f64::INFINITY, f64::min);
            limit = best + beam;
            end = NO_ARRIVAL;
            let exits = self.next.iter().zip(&phones.is_exit).filter(|(_, is_exit)| **is_exit);
            exits.for_each(|(arrival, _)| end.improve(*arrival));
            std::mem::swap(&mut self.now, &mut self.next);
        }
        // (Sound may end within a phone.)
        let last = self.now.iter().copied().fold(NO_ARRIVAL, |mut best, arrival| {
            best.improve(arrival);
            best
        });
        last.cost.is_finite().then_some(last.acoustic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: i32, pdf: i32) -> Node {
        Node {
            first_id: id,
            first_pdf: pdf,
            first_cost: 0.5,
            loop_id: id + 1,
            loop_pdf: pdf,
            loop_cost: 0.25,
            instance: 0,
        }
    }

    /// Two phones of two states each against all sequences of nodes.
    #[test]
    fn the_best_path_of_the_loop_is_that_of_all_paths() {
        let phones = PhoneLoop {
            nodes: (0..4).map(|n| node(2 * n + 1, n)).collect(),
            arcs: vec![vec![(1, 0.0)], vec![], vec![(3, 0.0)], vec![]],
            entries: vec![0, 2],
            is_exit: vec![false, true, false, true],
            phone_cost: 0.7,
        };
        let mut random = 1_u32;
        let table: Vec<f32> = (0..7 * 4)
            .map(|_| {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                -((random >> 20) as f32) / 200.0
            })
            .collect();
        let get = |frame: usize, pdf: i32| table[frame * 4 + pdf as usize];
        let mut options = AlignOptions { acoustic_scale: 1.0, ..AlignOptions::default() };
        options.beams.0 = vec![1e9];
        // All paths: for each frame the nodes.
        let mut paths: Vec<(usize, f64, f64)> = [0, 2]
            .iter()
            .map(|&n| (n, 0.7 + 0.5 - f64::from(get(0, n as i32)), f64::from(get(0, n as i32))))
            .collect();
        for frame in 1..7 {
            let mut longer = Vec::new();
            for &(n, cost, sum) in &paths {
                let mut go = |to: usize, more: f64| {
                    let local = f64::from(get(frame, to as i32));
                    longer.push((to, cost + more - local, sum + local));
                };
                go(n, 0.25);
                if n % 2 == 0 {
                    go(n + 1, 0.5);
                } else {
                    go(0, 0.7 + 0.5);
                    go(2, 0.7 + 0.5);
                }
            }
            paths = longer;
        }
        let expected = paths.iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap().2;
        let found = LoopSearch::default().best(&phones, 7, get, &options).unwrap();
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
}
