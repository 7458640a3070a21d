//! Long recordings with one text: cut into utterances with their parts of the text.
//!
//! The whole text is aligned with the whole recording in one search, whose memory grows with the paths within the beam only.
//! Two things make it forgive texts that are not exact. Pauses stand for any sound: a frame of a pause is at least as likely as
//! by the best of some pdfs, less a penalty. And words may be left out behind pauses, for a cost. The path is then cut at
//! pauses, and words that were left out go, unless all words are wanted. A text that fits hardly anywhere is a fault of the corpus: what forgives much aligns it,
//! too.

mod pieces;
pub mod recognised;
mod search;
mod untexted;

use kaldi_align::features::Front;
use kaldi_align::phone_graph::LexiconGraph;
use kaldi_align::{System, Utterance};
use kaldi_corpus::{Corpus, Fault, Kind};
use kaldi_gmm::Likelihoods;
use kaldi_io::DenseMatrix;
use kaldi_io::text::either;
use kaldi_lang::Lang;
use rustc_hash::FxHashMap;

use crate::aligned::{LeftOut, Untexted};
use crate::cepstra::{Extracted, numbers};
use crate::network::NetworkModel;
use crate::settings::FeatureSettings;
use crate::{Error, Result};
use pieces::{Gap, Piece, gaps, pieces};
use search::{Acoustics, Progress, rough};

/// Seconds of an utterance that is not cut.
pub const LONGEST: f64 = 120.0;

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
    // (The sum of nothing is -0.)
    let seconds = 0.0 + short.iter().map(|&number| corpus.seconds(&corpus.utterances[number])).sum::<f64>();
    if seconds < LEAST_SHORT {
        let utterance = &corpus.utterances[first];
        return Err(Error::Data(format!(
            "{}: {:.0} s have a single text, and recordings of more than {LONGEST} s are cut by a model; there is too little else to \
             train one on ({seconds:.0} s of at least {LEAST_SHORT} s): give a `model` of other recordings, or cut some into sentences \
             by hand (a TextGrid may have their times)",
            utterance.place,
            corpus.seconds(utterance)
        )));
    }
    Ok(Some(Extracted {
        utterances: short.iter().map(|&number| extracted.utterances[number].clone()).collect(),
        problems: short.iter().map(|&number| extracted.problems[number].clone()).collect(),
        levels: short.iter().map(|&number| extracted.levels[number].clone()).collect(),
    }))
}

/// A text does not fit if the deficit of its words is such a share of that of other words. (Of five minutes of Mboshi 0.00 with their
/// text, 0.34 and 0.38 with two other texts.)
const MISFIT: f64 = 0.2;
/// A text does not fit if more of its words are left out.
const MOST_LEFT_OUT: f64 = 0.3;

/// An event of the cutting.
#[derive(Debug, Clone, PartialEq)]
pub enum CutEvent {
    /// So much of the work is done, from 0 to 1.
    Share(f64),
    /// A search in a recording begins.
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
}

/// Replaces long utterances by pieces, in the corpus and in its features. An utterance through which no path leads loses its features
/// and gets a problem. One without features stays. Words that are left out, and texts that do not fit, are faults of the corpus. With
/// `all_words`, none are left out.
///
/// # Errors
/// The language does not fit the system.
pub fn cut(
    system: &System,
    lang: &Lang,
    settings: &FeatureSettings,
    (corpus, extracted): (&mut Corpus, &mut Extracted),
    all_words: bool,
    events: impl FnMut(CutEvent),
) -> Result<CutUp> {
    let long = long_ones(corpus);
    if long.is_empty() {
        return Ok(CutUp::default());
    }
    let acoustics =
        Acoustics { hmms: system.model.hmms(), options: &system.options, seconds: settings.seconds() };
    let found = {
        let gmms = system.independent.as_ref().unwrap_or(&system.model.gmms);
        let all = kaldi_align::utterance::Corpus::new(&extracted.utterances, system.cepstra());
        let front = Front::new(&all, system.features.clone(), system.normalized)?;
        let scores = |number: usize| {
            if all.problems[number].is_some() {
                return Ok(None);
            }
            let features = front.features(number)?;
            let likelihoods = Likelihoods::new(gmms, &features)?;
            let get = move |frame: usize, pdf: usize| likelihoods.get(frame, pdf);
            Ok(Some((features.rows, get, extracted.utterances[number].words.clone())))
        };
        pieces_of((&long, &*corpus), (&acoustics, all_words), lang, scores, events)?
    };
    let Found { cuts, without_path } = found;
    for number in without_path {
        extracted.utterances[number].features = DenseMatrix::new(0, 0);
        let even = if all_words { "sound is" } else { "words and sound are" };
        extracted.problems[number] = Some(format!(
            "the text does not fit the sound: no path reaches its end, even if {even} left out"
        ));
    }
    replace_features(extracted, corpus, &cuts, settings.seconds());
    Ok(replace(corpus, &cuts, settings.seconds()))
}

/// Replaces long utterances by pieces, with the log-likelihoods of a network. See [`cut`].
///
/// # Errors
/// The language does not fit the model. An utterance whose sound cannot be read stays.
pub fn cut_by_network(
    model: &NetworkModel,
    lang: &Lang,
    corpus: &mut Corpus,
    all_words: bool,
    events: impl FnMut(CutEvent),
) -> Result<CutUp> {
    let long = long_ones(corpus);
    if long.is_empty() {
        return Ok(CutUp::default());
    }
    let acoustics = Acoustics { hmms: model.hmms(), options: &model.options, seconds: model.times.seconds };
    let scores = |number: usize| {
        let Ok(outputs) = model.outputs(corpus, number) else { return Ok(None) };
        let words = numbers(&corpus.utterances[number].text, lang);
        Ok(Some((outputs.rows, move |frame: usize, pdf: usize| outputs.row(frame)[pdf], words)))
    };
    let found = pieces_of((&long, &*corpus), (&acoustics, all_words), lang, scores, events)?;
    Ok(replace(corpus, &found.cuts, model.times.seconds))
}

/// The result of the search in long utterances.
#[derive(Default)]
struct Found {
    cuts: FxHashMap<usize, Cut>,
    /// The numbers of those without a path to the end.
    without_path: Vec<usize>,
}

/// Long utterances after the cut.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CutUp {
    /// The number of utterances that were cut.
    pub utterances: usize,
    /// The number of their pieces.
    pub pieces: usize,
    /// Words that are in no piece.
    pub left_out: Vec<LeftOut>,
    /// Sound that is not silence, and in no word.
    pub untexted: Vec<Untexted>,
}

/// An utterance that is cut.
struct Cut {
    pieces: Vec<Piece>,
    /// Words that are in no piece.
    left_out: Vec<Gap>,
    /// See [`search::Rough::misfit`].
    misfit: Option<f64>,
    /// See [`search::Rough::untexted`].
    untexted: Vec<std::ops::Range<usize>>,
}

/// Searches in each long utterance. `scores` returns its number of frames, the log-likelihoods of pdfs by frame, and
/// its words; `None` if it stays whole.
fn pieces_of<G: Fn(usize, usize) -> f32>(
    (long, corpus): (&[usize], &Corpus),
    (acoustics, all_words): (&Acoustics, bool),
    lang: &Lang,
    scores: impl Fn(usize) -> Result<Option<(usize, G, Vec<u32>)>>,
    mut events: impl FnMut(CutEvent),
) -> Result<Found> {
    let mut found = Found::default();
    let lexicon = LexiconGraph::new(lang)?;
    for (done, &number) in long.iter().enumerate() {
        if let Some((frames, get, words)) = scores(number)? {
            let utterance = &corpus.utterances[number];
            let mut tell = |progress: Progress| {
                events(match progress {
                    Progress::Share(share) => CutEvent::Share((done as f64 + share) / long.len() as f64),
                    Progress::Begins { search, beam } => {
                        let (place, seconds) = (utterance.place.clone(), corpus.seconds(utterance));
                        CutEvent::Search { place, seconds, search, beam }
                    }
                });
            };
            match rough(acoustics, lang, &lexicon, frames, get, (&words, all_words), &mut tell) {
                Ok(Some(rough)) => {
                    let pieces = pieces(&rough.words, frames, acoustics.seconds);
                    let left_out = gaps(&rough.words, frames);
                    found.cuts.insert(
                        number,
                        Cut { pieces, left_out, misfit: rough.misfit, untexted: rough.untexted },
                    );
                }
                Ok(None) => found.without_path.push(number),
                // (The alignment says which word or phone it is.)
                Err(_) => (),
            }
        }
        events(CutEvent::Share((done + 1) as f64 / long.len() as f64));
    }
    Ok(found)
}

/// The name of a piece of an utterance, counted from 0.
fn piece_name(utterance: &str, count: usize) -> String {
    format!("{utterance}-{:05}", count + 1)
}

/// Puts pieces in the place of utterances, among features, whose frames are so many seconds apart.
fn replace_features(extracted: &mut Extracted, corpus: &Corpus, found: &FxHashMap<usize, Cut>, seconds: f64) {
    let all = std::mem::take(&mut extracted.utterances);
    let problems = std::mem::take(&mut extracted.problems);
    let levels = std::mem::take(&mut extracted.levels);
    for (number, ((whole, problem), levels)) in all.into_iter().zip(problems).zip(levels).enumerate() {
        let Some(Cut { pieces, .. }) = found.get(&number) else {
            extracted.utterances.push(whole);
            extracted.problems.push(problem);
            extracted.levels.push(levels);
            continue;
        };
        let cols = whole.features.cols;
        for (count, piece) in pieces.iter().enumerate() {
            let rows = piece.frames.clone();
            let part = whole.features.data[rows.start * cols..rows.end * cols].to_vec();
            extracted.utterances.push(Utterance {
                key: piece_name(&corpus.utterances[number].id, count),
                speaker: whole.speaker.clone(),
                features: DenseMatrix { rows: rows.len(), cols, data: part },
                words: piece.words.iter().map(|&place| whole.words[place]).collect(),
            });
            extracted.problems.push(None);
            extracted.levels.push(levels.part(&piece.frames, seconds));
        }
    }
}

/// Words of a text that a sentence names.
const NAMED: usize = 5;

/// Puts pieces in the place of utterances. Frames are so many seconds apart.
fn replace(corpus: &mut Corpus, found: &FxHashMap<usize, Cut>, seconds: f64) -> CutUp {
    let old = std::mem::take(&mut corpus.utterances);
    let (mut all_left_out, mut all_untexted) = (Vec::new(), Vec::new());
    for (number, utterance) in old.into_iter().enumerate() {
        let Some(Cut { pieces, left_out, misfit, untexted }) = found.get(&number) else {
            corpus.utterances.push(utterance);
            continue;
        };
        let texts: Vec<&str> = utterance.text.split(' ').filter(|word| !word.is_empty()).collect();
        let begin = utterance.span.map_or(0.0, |(begin, _)| begin);
        let time = |frame: usize| begin + frame as f64 * seconds;
        for (count, piece) in pieces.iter().enumerate() {
            let text: Vec<&str> = piece.words.iter().map(|&place| texts[place]).collect();
            corpus.utterances.push(kaldi_corpus::Utterance {
                id: piece_name(&utterance.id, count),
                span: Some((time(piece.frames.start), time(piece.frames.end))),
                text: text.join(" "),
                ..utterance.clone()
            });
        }
        all_left_out.extend(left_out.iter().map(|gap| LeftOut {
            recording: utterance.recording,
            place: utterance.place.clone(),
            begin: time(gap.frames.start),
            end: time(gap.frames.end),
            words: texts[gap.words.clone()].iter().map(|&word| word.to_owned()).collect(),
        }));
        all_untexted.extend(untexted.iter().map(|frames| Untexted {
            recording: utterance.recording,
            begin: time(frames.start),
            end: time(frames.end),
        }));
        let lost: Vec<&str> = left_out.iter().flat_map(|gap| &texts[gap.words.clone()]).copied().collect();
        if !lost.is_empty() {
            let named = lost[..lost.len().min(NAMED)].join(" ");
            let more = if lost.len() > NAMED { " …" } else { "" };
            let sentence = format!(
                "{} of {} words {} left out, said or not: {named}{more}",
                lost.len(),
                texts.len(),
                either(lost.len(), "is", "are")
            );
            corpus.faults.push(Fault::warning(Kind::WordsLeftOut, utterance.place.clone(), sentence));
        }
        let left_out = lost.len() as f64 / texts.len().max(1) as f64;
        let reason = match misfit {
            _ if left_out > MOST_LEFT_OUT => {
                Some(format!("{:.0} % of its words are left out", 100.0 * left_out))
            }
            Some(misfit) if *misfit > MISFIT => Some(format!(
                "its words fit their sound hardly better than any others (they lack {:.0} % of the likelihood that those lack)",
                100.0 * misfit
            )),
            _ => None,
        };
        if let Some(reason) = reason {
            let sentence =
                format!("doubtful: the text does not fit the sound, as {reason}; all its times are doubtful");
            corpus.faults.push(Fault::warning(Kind::TextDoesNotFit, utterance.place.clone(), sentence));
        }
    }
    CutUp {
        utterances: found.len(),
        pieces: found.values().map(|cut| cut.pieces.len()).sum(),
        left_out: all_left_out,
        untexted: all_untexted,
    }
}
