//! The search that forgives: pauses stand for any sound, and words may be left out behind pauses.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use kaldi_align::align::times;
use kaldi_align::network::{Builder, Hmms, Network};
use kaldi_align::phone_graph::{LexiconGraph, NO_WORD, PhoneArc, PhoneGraph};
use kaldi_align::search::{Path, Search};
use kaldi_align::{AlignOptions, Reason, WordTime};
use kaldi_hmm::{TransitionId, TransitionModel};
use kaldi_lang::Lang;

use super::untexted::{Frame, stretches};
use crate::scores::low_outliers;

/// A pause is, for each 10 ms, at most so much less likely than by the best of some pdfs, in scaled natural logarithms.
const PENALTY: f64 = 0.6;
/// Pdfs that are asked.
const PDFS: usize = 150;
/// The cost of a word that is left out, and the most words that are left out between two pauses.
const SKIP: f32 = 8.0;
/// The cost of a word in the second search, and the factor of the deficit that nearly all words have not. (Of 1,876 words, 680 that were
/// said were left out by the first costs, 27 with a cost of 16, and 11 with this one.)
const SURE_SKIP: f32 = 25.0;
const MARGIN: f64 = 2.0;
const MOST_SKIPPED: usize = 3;
/// Seconds of words that tell how well a text fits.
const FEWEST_SECONDS: f64 = 10.0;
/// Beams of the search: paths through wrong parts of a text are far from the best one.
const BEAMS: [f32; 3] = [30.0, 120.0, 480.0];

/// A model as the search needs it.
pub(super) struct Acoustics<'a> {
    pub hmms: Hmms<'a>,
    pub options: &'a AlignOptions,
    /// Between frames.
    pub seconds: f64,
}

/// The costs of leaving words out.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Costs {
    /// A frame of a pause is at most so much less likely than by the best of some pdfs, in scaled natural logarithms.
    penalty: f64,
    /// The cost of a word that is left out.
    skip: f32,
}

/// Rough times of the words of a text.
pub(super) struct Rough {
    /// Words that are left out have no frames.
    pub words: Vec<WordTime>,
    /// The deficit of a frame of a word, as a share of the deficit that it would have in another word of the recording: near 0
    /// if the text is what is said, and near 1 if any other text would do. `None` if there are few words.
    pub misfit: Option<f64>,
    /// Frames of sound that is not silence, and in no word.
    pub untexted: Vec<Range<usize>>,
}

/// An event of the search in a recording.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Progress {
    /// A search begins with this beam; there are two searches, with a wider beam if no path reaches the end.
    Begins { search: usize, beam: f32 },
    /// So much of both is done, from 0 to 1.
    Share(f64),
}

/// Tells of the frames that a search has come to.
struct Frames<'p> {
    progress: RefCell<&'p mut dyn FnMut(Progress)>,
    frames: usize,
    /// The search, from 0, and the last frame that was told of.
    search: Cell<usize>,
    told: Cell<usize>,
}

impl Frames<'_> {
    fn begin(&self, beam: f32) {
        self.told.set(0);
        (self.progress.borrow_mut())(Progress::Begins { search: self.search.get() + 1, beam });
    }

    /// A search has come to this frame. Each hundredth of the recording is told.
    fn at(&self, frame: usize) {
        if frame >= self.told.get() + self.frames.div_ceil(100) {
            self.told.set(frame);
            let share = (self.search.get() as f64 + frame as f64 / self.frames as f64) / 2.0;
            (self.progress.borrow_mut())(Progress::Share(share));
        }
    }
}

/// Rough times of the words of a text. `get` gives the log-likelihoods of frames and pdfs. `None` if no path reaches the end.
///
/// There are two searches. The second one's costs follow from the words that the first one has found: sound is left out only if it
/// fits its words worse than nearly all sound does. With `all_words`, neither leaves a word out.
///
/// # Errors
/// A word has no pronunciation, or the model lacks a phone.
pub(super) fn rough(
    acoustics: &Acoustics,
    lang: &Lang,
    lexicon: &LexiconGraph,
    frames: usize,
    get: impl Fn(usize, usize) -> f32,
    (words, all_words): (&[u32], bool),
    progress: &mut dyn FnMut(Progress),
) -> Result<Option<Rough>, Reason> {
    let graph = lexicon.transcript(words)?;
    let fillers = Fillers::new(acoustics.hmms.transitions, lang);
    let best: Vec<f32> = {
        let of_frame =
            |frame: usize| fillers.asked.iter().map(|&pdf| get(frame, pdf)).fold(f32::NEG_INFINITY, f32::max);
        (0..frames).map(of_frame).collect()
    };
    let told = Frames { progress: RefCell::new(progress), frames, search: Cell::new(0), told: Cell::new(0) };
    let search = |costs: Costs| {
        let graph = match all_words {
            true => graph.clone(),
            false => forgiving(graph.clone(), lang.optional_silence, words.len(), costs.skip),
        };
        acoustics.search(&graph, &fillers, &best, costs.penalty, &get, &told)
    };
    let first = Costs { penalty: PENALTY * acoustics.seconds / 0.01, skip: SKIP };
    let Some((network, path)) = search(first)? else { return Ok(None) };
    let rough = |network: &Network, path: &Path| {
        let words = times(network, path, words, None).1;
        let misfit = acoustics.misfit(&words, path, &best, &get);
        let untexted = acoustics.untexted(&words, path, &best, &get);
        Rough { words, misfit, untexted }
    };
    let found = rough(&network, &path);
    let Some(costs) = acoustics.costs(&found.words, &path, &best, &get) else { return Ok(Some(found)) };
    let costs = Costs { penalty: costs.penalty.max(first.penalty), ..costs };
    told.search.set(1);
    Ok(Some(search(costs)?.map_or(found, |(network, path)| rough(&network, &path))))
}

impl Acoustics<'_> {
    /// The best path, if one reaches the end. A frame of a pause is at most `penalty` less likely than `best` says.
    ///
    /// # Errors
    /// The model lacks a phone.
    fn search(
        &self,
        graph: &PhoneGraph,
        fillers: &Fillers,
        best: &[f32],
        penalty: f64,
        get: &impl Fn(usize, usize) -> f32,
        told: &Frames<'_>,
    ) -> Result<Option<(Network, Path)>, Reason> {
        let network = Builder::new(self.hmms, self.options.settings().scales).network(graph)?;
        let penalty = penalty as f32 / self.options.acoustic_scale;
        let likelihood = |frame: usize, pdf: i32| {
            told.at(frame);
            let own = get(frame, pdf as usize);
            if fillers.is_silence[pdf as usize] { own.max(best[frame] - penalty) } else { own }
        };
        let mut search = Search::default();
        for beam in BEAMS {
            let scale = self.options.acoustic_scale;
            told.begin(beam);
            if let Some(path) = search.best_path(&network, best.len(), likelihood, scale, beam) {
                return Ok(Some((network, path)));
            }
            if search.was_crowded() {
                break;
            }
        }
        Ok(None)
    }

    /// See [`Rough::misfit`]. The other word of a frame is the one half of all frames of words away.
    fn misfit(
        &self,
        words: &[WordTime],
        path: &Path,
        best: &[f32],
        get: &impl Fn(usize, usize) -> f32,
    ) -> Option<f64> {
        let ids = self.hmms.transitions.transition_ids(&path.ids).ok()?;
        let spoken: Vec<usize> = words.iter().flat_map(|word| word.begin..word.end).collect();
        let half = spoken.len() / 2;
        let deficit = |frame: usize, of: usize| {
            let own = get(frame, self.hmms.transitions.pdf(ids[of]) as usize);
            f64::from((best[frame] - own).max(0.0))
        };
        let median = |shift: usize| {
            let of_frame = |place: usize| deficit(spoken[place], spoken[(place + shift) % spoken.len()]);
            let mut all: Vec<f64> = (0..spoken.len()).map(of_frame).collect();
            let middle = all.len() / 2;
            *all.select_nth_unstable_by(middle, f64::total_cmp).1
        };
        if (spoken.len() as f64) * self.seconds < FEWEST_SECONDS {
            return None;
        }
        let (own, other) = (median(0), median(half));
        (other > 0.0).then(|| own / other)
    }

    /// See [`Rough::untexted`]. A frame of a pause has sound if it fits silence worse than the first search lets a pause fit.
    fn untexted(
        &self,
        words: &[WordTime],
        path: &Path,
        best: &[f32],
        get: &impl Fn(usize, usize) -> f32,
    ) -> Vec<Range<usize>> {
        let Ok(ids) = self.hmms.transitions.transition_ids(&path.ids) else { return Vec::new() };
        let least = (PENALTY * self.seconds / 0.01) as f32 / self.options.acoustic_scale;
        let of_frame = |(frame, id): (usize, &TransitionId)| {
            let own = get(frame, self.hmms.transitions.pdf(*id) as usize);
            if best[frame] - own > least { Frame::Sound } else { Frame::Silence }
        };
        let mut frames: Vec<Frame> = ids.iter().enumerate().map(of_frame).collect();
        for word in words {
            frames[word.begin..word.end].fill(Frame::Word);
        }
        stretches(&frames, self.seconds)
    }

    /// Costs that follow from the words of a path: a frame of a pause costs more than frames of nearly all words do. `None` for a few
    /// words.
    fn costs(
        &self,
        words: &[WordTime],
        path: &Path,
        best: &[f32],
        get: &impl Fn(usize, usize) -> f32,
    ) -> Option<Costs> {
        let ids = self.hmms.transitions.transition_ids(&path.ids).ok()?;
        let of_frame = |frame: usize| {
            let own = get(frame, self.hmms.transitions.pdf(ids[frame]) as usize);
            f64::from(self.options.acoustic_scale) * f64::from((best[frame] - own).max(0.0))
        };
        let spoken = words.iter().filter(|word| word.end > word.begin);
        let mean = |word: &WordTime| {
            (word.begin..word.end).map(of_frame).sum::<f64>() / (word.end - word.begin) as f64
        };
        // (Deficits are positive, scores negative.)
        let highest = -low_outliers(spoken.map(|word| -mean(word)))?;
        Some(Costs { penalty: MARGIN * highest, skip: SURE_SKIP })
    }
}

/// The pdfs of silence, and some of others.
struct Fillers {
    is_silence: Vec<bool>,
    asked: Vec<usize>,
}

impl Fillers {
    fn new(transitions: &TransitionModel, lang: &Lang) -> Fillers {
        let phones = transitions.phones_by_pdf();
        let of_silence =
            |phones: &Vec<i32>| !phones.is_empty() && phones.iter().all(|&p| p == lang.optional_silence);
        let is_silence: Vec<bool> = phones.iter().map(of_silence).collect();
        let others: Vec<usize> = (0..is_silence.len()).filter(|&pdf| !is_silence[pdf]).collect();
        let asked = others.iter().copied().step_by(others.len().div_ceil(PDFS).max(1)).collect();
        Fillers { is_silence, asked }
    }
}

/// Adds ways around words behind pauses, for a cost a word.
fn forgiving(mut graph: PhoneGraph, silence: i32, words: usize, skip: f32) -> PhoneGraph {
    // For each place of the text, the state behind a pause there, and the state before it.
    let mut behind: Vec<Option<u32>> = vec![None; words + 1];
    let mut before: Vec<Option<u32>> = vec![None; words + 1];
    let mut pauses: Vec<(usize, usize, usize)> = Vec::new();
    for (state, arcs) in graph.arcs.iter().enumerate() {
        for (number, arc) in arcs.iter().enumerate() {
            if arc.phone == silence && arc.word == NO_WORD {
                let place = next_word(&graph, arc.next).unwrap_or(words);
                behind[place] = Some(arc.next);
                before[place] = Some(state as u32);
                pauses.push((state, number, place));
            }
        }
    }
    for (state, number, place) in pauses {
        let new = graph.arcs.len() as u32;
        let next = std::mem::replace(&mut graph.arcs[state][number].next, new);
        let way = |cost: f32, next: u32| PhoneArc { phone: 0, word: NO_WORD, cost, next };
        let mut arcs = vec![way(0.0, next)];
        for skipped in 1..=MOST_SKIPPED {
            if let Some(next) = behind.get(place + skipped).copied().flatten() {
                arcs.push(way(skip * skipped as f32, next));
            }
        }
        // (More than these are left out in several steps.)
        if let Some(next) = before.get(place + MOST_SKIPPED).copied().flatten() {
            arcs.push(way(skip * MOST_SKIPPED as f32, next));
        }
        graph.arcs.push(arcs);
        graph.finals.push(f32::INFINITY);
    }
    graph
}

/// The place of the first word behind a state.
fn next_word(graph: &PhoneGraph, state: u32) -> Option<usize> {
    let mut queue = vec![state];
    while let Some(state) = queue.pop() {
        for arc in &graph.arcs[state as usize] {
            match arc.word {
                NO_WORD => queue.push(arc.next),
                word => return Some(word as usize),
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_can_be_left_out_only_behind_pauses() {
        // Words 1 and 2, with a pause before, between and behind them: states 0 to 2, and 3 to 5 before pauses.
        let arc = |phone, word, next| PhoneArc { phone, word, cost: 0.0, next };
        let graph = PhoneGraph {
            arcs: vec![
                vec![arc(7, 0, 4)],
                vec![arc(8, 1, 5)],
                vec![],
                vec![arc(0, NO_WORD, 0), arc(9, NO_WORD, 0)],
                vec![arc(0, NO_WORD, 1), arc(9, NO_WORD, 1)],
                vec![arc(0, NO_WORD, 2), arc(9, NO_WORD, 2)],
            ],
            finals: vec![f32::INFINITY, f32::INFINITY, 0.0, f32::INFINITY, f32::INFINITY, f32::INFINITY],
        };
        let changed = forgiving(graph, 9, 2, SKIP);
        assert_eq!(changed.arcs.len(), 9);
        // Behind the first pause: word 1, word 2, or the end.
        let next: Vec<(u32, f32)> = changed.arcs[6].iter().map(|arc| (arc.next, arc.cost)).collect();
        assert_eq!(next, [(0, 0.0), (1, SKIP), (2, 2.0 * SKIP)]);
        assert_eq!(changed.arcs[3][0].next, 0);
    }
}
