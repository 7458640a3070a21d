//! Long recordings with one text: cut into utterances with their parts of the text.
//!
//! The whole text is aligned with the whole recording in one search, whose memory grows with the paths within the beam only.
//! Two things make it forgive texts that are not exact. Pauses stand for any sound: a frame of a pause is at least as likely as
//! by the best of some pdfs, less a penalty. And words may be left out behind pauses, for a cost. The path is then cut at
//! pauses, and words that were left out go.

use std::ops::Range;

use kaldi_align::align::times;
use kaldi_align::features::Front;
use kaldi_align::network::{Builder, TransitionScales};
use kaldi_align::phone_graph::{LexiconGraph, NO_WORD, PhoneArc, PhoneGraph};
use kaldi_align::search::Search;
use kaldi_align::{System, Utterance, WordTime};
use kaldi_corpus::{Corpus, Fault, Kind};
use kaldi_gmm::{AmDiagGmm, Likelihoods};
use kaldi_io::DenseMatrix;
use kaldi_lang::Lang;
use rustc_hash::FxHashMap;

use crate::cepstra::Extracted;
use crate::settings::FeatureSettings;
use crate::{Error, Result};

/// Seconds of an utterance that is not cut.
pub const LONGEST: f64 = 120.0;

/// A frame of a pause is at most so much less likely than by the best of some pdfs, in natural logarithms.
const PENALTY: f32 = 6.0;
/// Pdfs that are asked.
const PDFS: usize = 150;
/// The cost of a word that is left out, and the most words that are left out between two pauses.
const SKIP: f32 = 8.0;
const MOST_SKIPPED: usize = 3;
/// Beams of the search: paths through wrong parts of a text are far from the best one.
const BEAMS: [f32; 3] = [30.0, 120.0, 480.0];
/// Seconds of a piece that may end at a pause, and of one that ends at the longest pause that it has.
const PIECE: f64 = 6.0;
const MOST_PIECE: f64 = 25.0;
/// Seconds of a pause at which a piece may end, and of the sound around a piece.
const PAUSE: f64 = 0.2;
const AROUND: f64 = 0.3;

/// The numbers of utterances that are longer than [`LONGEST`].
pub fn long_ones(corpus: &Corpus) -> Vec<usize> {
    let is_long = |number: &usize| corpus.seconds(&corpus.utterances[*number]) > LONGEST;
    (0..corpus.utterances.len()).filter(is_long).collect()
}

/// Seconds of other utterances that a training needs if there are long ones.
const LEAST_SHORT: f64 = 120.0;

/// The utterances without the long ones, for a training; `None` if there are no long ones.
///
/// # Errors
/// The others have too little speech to train a model that could cut the long ones.
pub fn short_ones(corpus: &Corpus, extracted: &Extracted) -> Result<Option<Extracted>> {
    let long = long_ones(corpus);
    let Some(&first) = long.first() else { return Ok(None) };
    let short: Vec<usize> = (0..corpus.utterances.len()).filter(|number| !long.contains(number)).collect();
    let seconds: f64 = short.iter().map(|&number| corpus.seconds(&corpus.utterances[number])).sum();
    if seconds < LEAST_SHORT {
        let utterance = &corpus.utterances[first];
        return Err(Error::Data(format!(
            "{}: {:.0} s have a single text. Longer ones than {LONGEST} s are cut with a model, which the shorter ones cannot \
             train, as they have {seconds:.0} s of at least {LEAST_SHORT} s: give a `model`, or cut some by hand",
            utterance.place,
            corpus.seconds(utterance)
        )));
    }
    Ok(Some(Extracted {
        utterances: short.iter().map(|&number| extracted.utterances[number].clone()).collect(),
        problems: short.iter().map(|&number| extracted.problems[number].clone()).collect(),
    }))
}

/// Replaces long utterances by pieces, in the corpus and in its features. An utterance that cannot be cut stays. Returns the
/// number of utterances that were cut, and of their pieces. Words that are not in the sound are faults of the corpus.
///
/// # Errors
/// The language does not fit the system.
pub fn cut(
    system: &System,
    lang: &Lang,
    settings: &FeatureSettings,
    corpus: &mut Corpus,
    extracted: &mut Extracted,
    mut progress: impl FnMut(f64),
) -> Result<(usize, usize)> {
    let long = long_ones(corpus);
    if long.is_empty() {
        return Ok((0, 0));
    }
    let found = {
        let gmms = system.independent.as_ref().unwrap_or(&system.model.gmms);
        let all = kaldi_align::utterance::Corpus::new(&extracted.utterances, system.cepstra());
        let front = Front::new(&all, system.features.clone(), system.normalized)?;
        let lexicon = LexiconGraph::new(lang)?;
        let mut found: FxHashMap<usize, Vec<Piece>> = FxHashMap::default();
        for (done, &number) in long.iter().enumerate() {
            if all.problems[number].is_none() {
                let features = front.features(number)?;
                let words = &extracted.utterances[number].words;
                if let Some(words) = rough(system, gmms, lang, &lexicon, &features, words)? {
                    found.insert(number, pieces(&words, features.rows, settings.seconds()));
                }
            }
            progress((done + 1) as f64 / long.len() as f64);
        }
        found
    };
    let counts = (found.len(), found.values().map(Vec::len).sum());
    replace(corpus, extracted, &found, settings);
    Ok(counts)
}

/// A piece of a long utterance.
#[derive(Debug, Clone, PartialEq)]
struct Piece {
    frames: Range<usize>,
    /// Places of its words in the text.
    words: Vec<usize>,
}

/// Rough times of the words of a text; those that are left out have no frames. `None` if no path reaches the end.
fn rough(
    system: &System,
    gmms: &AmDiagGmm,
    lang: &Lang,
    lexicon: &LexiconGraph,
    features: &DenseMatrix<f32>,
    words: &[u32],
) -> Result<Option<Vec<WordTime>>> {
    let Ok(graph) = lexicon.transcript(words) else { return Ok(None) };
    let graph = forgiving(graph, lang.optional_silence, words.len());
    let options = &system.options;
    let scales =
        TransitionScales { transition: options.transition_scale, self_loop: options.self_loop_scale };
    let Ok(network) = Builder::new(&system.model, scales).network(&graph) else { return Ok(None) };
    let likelihoods = Likelihoods::new(gmms, features)?;
    let fillers = Fillers::new(system, lang);
    let filler: Vec<f32> = {
        let of_frame = |frame: usize| {
            let best = fillers.asked.iter().map(|&pdf| likelihoods.get(frame, pdf));
            best.fold(f32::NEG_INFINITY, f32::max) - PENALTY
        };
        (0..features.rows).map(of_frame).collect()
    };
    let get = |frame: usize, pdf: i32| {
        let own = likelihoods.get(frame, pdf as usize);
        if fillers.is_silence[pdf as usize] { own.max(filler[frame]) } else { own }
    };
    let mut search = Search::default();
    let path = BEAMS
        .iter()
        .find_map(|&beam| search.best_path(&network, features.rows, get, options.acoustic_scale, beam));
    Ok(path.map(|path| times(&network, &path, words, None).1))
}

/// The pdfs of silence, and some of others.
struct Fillers {
    is_silence: Vec<bool>,
    asked: Vec<usize>,
}

impl Fillers {
    fn new(system: &System, lang: &Lang) -> Fillers {
        let transitions = &system.model.transitions;
        let phones = transitions.phones_by_pdf();
        let of_silence =
            |phones: &Vec<i32>| !phones.is_empty() && phones.iter().all(|&p| p == lang.optional_silence);
        let is_silence: Vec<bool> = phones.iter().map(of_silence).collect();
        let others: Vec<usize> = (0..is_silence.len()).filter(|&pdf| !is_silence[pdf]).collect();
        let asked = others.iter().copied().step_by(others.len().div_ceil(PDFS).max(1)).collect();
        Fillers { is_silence, asked }
    }
}

/// Adds ways around words behind pauses.
fn forgiving(mut graph: PhoneGraph, silence: i32, words: usize) -> PhoneGraph {
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
                arcs.push(way(SKIP * skipped as f32, next));
            }
        }
        // (More than these are left out in several steps.)
        if let Some(next) = before.get(place + MOST_SKIPPED).copied().flatten() {
            arcs.push(way(SKIP * MOST_SKIPPED as f32, next));
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

/// Cuts words with their times into pieces.
fn pieces(words: &[WordTime], frames: usize, seconds: f64) -> Vec<Piece> {
    let in_frames = |length: f64| (length / seconds).round() as usize;
    let (least, most, pause, around) =
        (in_frames(PIECE), in_frames(MOST_PIECE), in_frames(PAUSE), in_frames(AROUND));
    let spoken: Vec<usize> =
        (0..words.len()).filter(|&place| words[place].end > words[place].begin).collect();
    let gap = |at: usize| words[spoken[at]].begin - words[spoken[at - 1]].end;
    let mut cuts = vec![0];
    let mut first = 0;
    for at in 1..spoken.len() {
        let length = words[spoken[at - 1]].end - words[spoken[first]].begin;
        // Sound without text is in no piece.
        if (gap(at) >= pause && length >= least) || gap(at) > 4 * around {
            first = at;
            cuts.push(at);
        } else if length > most
            && let Some(longest) = (first + 1..=at).max_by_key(|&at| gap(at))
        {
            first = longest;
            cuts.push(longest);
        }
    }
    cuts.push(spoken.len());
    let piece = |range: &[usize]| {
        let members = &spoken[range[0]..range[1]];
        let (&begin, &end) = (members.first()?, members.last()?);
        let lower = if range[0] == 0 { 0 } else { words[spoken[range[0] - 1]].end };
        let upper = spoken.get(range[1]).map_or(frames, |&next| words[next].begin);
        let (from, to) = (words[begin].begin, words[end].end);
        let from = from - around.min((from - lower) / if range[0] == 0 { 1 } else { 2 });
        let to = to + around.min((upper - to) / if range[1] == spoken.len() { 1 } else { 2 });
        Some(Piece { frames: from..to, words: members.to_vec() })
    };
    cuts.windows(2).filter_map(piece).collect()
}

/// Puts pieces in the place of utterances.
fn replace(
    corpus: &mut Corpus,
    extracted: &mut Extracted,
    found: &FxHashMap<usize, Vec<Piece>>,
    settings: &FeatureSettings,
) {
    let old = std::mem::take(&mut corpus.utterances);
    let features = std::mem::take(&mut extracted.utterances);
    let problems = std::mem::take(&mut extracted.problems);
    for (number, ((utterance, whole), problem)) in old.into_iter().zip(features).zip(problems).enumerate() {
        let Some(pieces) = found.get(&number) else {
            corpus.utterances.push(utterance);
            extracted.utterances.push(whole);
            extracted.problems.push(problem);
            continue;
        };
        let texts: Vec<&str> = utterance.text.split(' ').filter(|word| !word.is_empty()).collect();
        let begin = utterance.span.map_or(0.0, |(begin, _)| begin);
        let cols = whole.features.cols;
        for (count, piece) in pieces.iter().enumerate() {
            let id = format!("{}-{:05}", utterance.id, count + 1);
            let time = |frame: usize| begin + frame as f64 * settings.seconds();
            let rows = piece.frames.clone();
            let part = whole.features.data[rows.start * cols..rows.end * cols].to_vec();
            extracted.utterances.push(Utterance {
                key: id.clone(),
                speaker: utterance.speaker.clone(),
                features: DenseMatrix { rows: rows.len(), cols, data: part },
                words: piece.words.iter().map(|&place| whole.words[place]).collect(),
            });
            extracted.problems.push(None);
            let text: Vec<&str> = piece.words.iter().map(|&place| texts[place]).collect();
            corpus.utterances.push(kaldi_corpus::Utterance {
                id,
                span: Some((time(rows.start), time(rows.end))),
                text: text.join(" "),
                ..utterance.clone()
            });
        }
        let kept: usize = pieces.iter().map(|piece| piece.words.len()).sum();
        if kept < texts.len() {
            let is_kept = |place: &usize| pieces.iter().any(|piece| piece.words.contains(place));
            let lost: Vec<&str> =
                (0..texts.len()).filter(|place| !is_kept(place)).take(5).map(|place| texts[place]).collect();
            let sentence = format!(
                "{} of {} words are not in the sound: {} …",
                texts.len() - kept,
                texts.len(),
                lost.join(" ")
            );
            corpus.faults.push(Fault::warning(Kind::WordsNotSpoken, utterance.place.clone(), sentence));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(begin: usize, end: usize) -> WordTime {
        WordTime { word: 1, begin, end, fine: (begin as f64, end as f64) }
    }

    #[test]
    fn pieces_end_at_pauses_and_have_all_spoken_words() {
        // A word of 90 frames each 100 frames; the pause before every tenth word has 30 frames more.
        let mut words: Vec<WordTime> = Vec::new();
        let mut now = 50;
        for number in 0..60 {
            now += if number % 10 == 0 { 40 } else { 10 };
            words.push(word(now, now + 90));
            now += 90;
        }
        // One was left out.
        words[25] = word(words[24].end, words[24].end);
        let found = pieces(&words, now + 200, 0.01);
        let all: Vec<usize> = found.iter().flat_map(|piece| piece.words.clone()).collect();
        let expected: Vec<usize> = (0..60).filter(|&place| place != 25).collect();
        assert_eq!(all, expected);
        for pair in found.windows(2) {
            assert!(pair[0].frames.end <= pair[1].frames.start, "{pair:?}");
            let gap = words[pair[1].words[0]].begin - words[*pair[0].words.last().unwrap()].end;
            assert!(gap >= 20, "{pair:?}");
        }
        let first = &found[0];
        assert_eq!(first.frames.start, words[0].begin - 30);
        assert!(found.iter().all(|piece| piece.frames.len() < 2600));
    }

    #[test]
    fn sound_without_text_is_in_no_piece() {
        let words = [word(10, 100), word(110, 200), word(5000, 5100)];
        let found = pieces(&words, 9000, 0.01);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].frames.end, found[1].frames.clone()), (230, 4970..5130));
    }

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
        let changed = forgiving(graph, 9, 2);
        assert_eq!(changed.arcs.len(), 9);
        // Behind the first pause: word 1, word 2, or the end.
        let next: Vec<(u32, f32)> = changed.arcs[6].iter().map(|arc| (arc.next, arc.cost)).collect();
        assert_eq!(next, [(0, 0.0), (1, SKIP), (2, 2.0 * SKIP)]);
        assert_eq!(changed.arcs[3][0].next, 0);
    }
}
