//! Scores of words and phones: how well the aligned states explain the frames, beside the best states of all.

use std::num::NonZero;

use kaldi_align::align::Aligned;
use kaldi_align::features::Front;
use kaldi_align::passes::Passes;
use kaldi_align::utterance::Corpus;
use kaldi_align::{Alignment, System};
use kaldi_gmm::Likelihoods;
use kaldi_hmm::TransitionModel;

use crate::Result;
use crate::aligned::{AlignedUtterance, Results};
use crate::cepstra::Extracted;

/// A word is doubtful if its score is below the median of all words by so many deviations.
const DEVIATIONS: f64 = 3.5;
/// The factor that makes a standard deviation of the median distance from the median, for normal numbers.
const NORMAL: f64 = 1.4826;
/// Fewer scores have no median worth the name.
const LEAST_SCORES: usize = 20;

/// Adds scores to words and phones, and finds the score below which words are doubtful.
pub(crate) fn add(
    system: &System,
    extracted: &Extracted,
    aligned: &Aligned,
    results: &mut Results,
    threads: NonZero<usize>,
) -> Result<()> {
    let corpus = Corpus::new(&extracted.utterances, system.cepstra());
    let mut front = Front::new(&corpus, system.features.clone(), system.normalized)?;
    front.set_transforms(aligned.transforms.iter().map(|(_, transform)| transform.clone()).collect());
    let passes = Passes { corpus: &corpus, threads };
    let gmms = &system.model.gmms;
    let transitions = &system.model.transitions;
    let pdfs = gmms.pdfs().len();
    let work = |(): &mut (), place: usize| {
        let Ok(alignment) = &aligned.results[place] else { return Ok(Ok(Vec::new())) };
        let features = front.features(place)?;
        let likelihoods = Likelihoods::new(gmms, &features)?;
        Ok(Ok(of_frames(transitions, &alignment.ids, pdfs, |frame, pdf| likelihoods.get(frame, pdf))?))
    };
    let frames = passes.for_utterances(|| (), work, |_| ())?;
    for (number, scores) in frames.into_iter().enumerate() {
        if let (Ok(scores), Ok(alignment), Ok(utterance)) =
            (scores, &aligned.results[number], &mut results.utterances[number])
        {
            add_to(utterance, alignment, &scores);
        }
    }
    results.doubtful_below = threshold(results);
    Ok(())
}

/// For each frame of an alignment, its log-likelihood less that of the best of all pdfs.
pub(crate) fn of_frames(
    transitions: &TransitionModel,
    ids: &[i32],
    pdfs: usize,
    get: impl Fn(usize, usize) -> f32,
) -> kaldi_align::Result<Vec<f64>> {
    let mut best = vec![f32::NEG_INFINITY; ids.len()];
    // (A pdf for all frames, as several frames of one are computed at once.)
    for pdf in 0..pdfs {
        for (frame, best) in best.iter_mut().enumerate() {
            *best = best.max(get(frame, pdf));
        }
    }
    let ids = transitions.transition_ids(ids)?;
    let score = |(frame, id)| f64::from(get(frame, transitions.pdf(id) as usize) - best[frame]);
    Ok(ids.into_iter().enumerate().map(score).collect())
}

/// Gives the words and phones of an utterance the means of their frames' scores. A phone for anything spoken fits no sound well,
/// so that its score would say nothing: words of it have none.
pub(crate) fn add_to(utterance: &mut AlignedUtterance, alignment: &Alignment, scores: &[f64]) {
    let mean = |begin: usize, end: usize| {
        let part: &[f64] = scores.get(begin..end).unwrap_or_default();
        (!part.is_empty()).then(|| part.iter().sum::<f64>() / part.len() as f64)
    };
    let mut phones = vec![0; utterance.words.len()];
    for phone in &alignment.phones {
        let Some(place) = phone.word else { continue };
        let word = &mut utterance.words[place];
        if let Some(aligned) = word.phones.get_mut(phones[place]).filter(|_| !word.is_any_speech) {
            aligned.score = mean(phone.begin, phone.end);
        }
        phones[place] += 1;
    }
    for (word, times) in
        utterance.words.iter_mut().zip(&alignment.words).filter(|(word, _)| !word.is_any_speech)
    {
        word.score = mean(times.begin, times.end);
    }
}

/// The score below which words are doubtful.
pub(crate) fn threshold(results: &Results) -> Option<f64> {
    let words = results.utterances.iter().flatten().flat_map(|utterance| &utterance.words);
    low_outliers(words.filter_map(|word| word.score))
}

/// The median less some deviations, which outliers do not change; `None` for a few scores.
pub(crate) fn low_outliers(scores: impl Iterator<Item = f64>) -> Option<f64> {
    let mut scores: Vec<f64> = scores.collect();
    if scores.len() < LEAST_SCORES {
        return None;
    }
    scores.sort_by(f64::total_cmp);
    let median = scores[scores.len() / 2];
    let mut distances: Vec<f64> = scores.iter().map(|score| (score - median).abs()).collect();
    distances.sort_by(f64::total_cmp);
    Some(median - DEVIATIONS * NORMAL * distances[distances.len() / 2])
}
