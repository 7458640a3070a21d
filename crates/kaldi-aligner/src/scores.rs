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
use crate::aligned::{AlignedUtterance, AlignedWord, Results};
use crate::cepstra::Extracted;
use crate::edges::Levels;

/// A score is low if it is below the median by so many deviations.
const DEVIATIONS: f64 = 3.5;
/// The factor that makes a standard deviation of the median distance from the median, for normal numbers.
const NORMAL: f64 = 1.4826;
/// Seconds of a word whose distance from the median counts as it is, and those from which on distances do not grow.
const USUAL: f64 = 0.2;
const LONG: f64 = 0.5;
/// A sound of so many seconds that is quiet for more than this share of its time is doubtful.
const LONG_SOUND: f64 = 0.4;
const QUIET_SHARE: f64 = 0.6;
/// A sound of at least so many seconds, and of so many times the median, is doubtful: more may be said there than the text has.
const TOO_LONG: f64 = 1.0;
const TIMES_MEDIAN: f64 = 10.0;
/// Among few scores, those below are low. (40 of 8,886 words of Mboshi are, 4 of which take 0.15 s or more.)
const SURELY_LOW: f64 = -12.0;
/// Fewer scores have no median worth the name.
const LEAST_SCORES: usize = 20;

/// Adds scores to words and phones, and marks doubtful words.
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
    mark_doubtful(results);
    mark_quiet(results, &extracted.levels);
    mark_long(results);
    Ok(())
}

/// Marks words with a sound that is much longer than others: the last sound of a text takes what is said behind it, for instance.
pub(crate) fn mark_long(results: &mut Results) {
    let words = || results.utterances.iter().flatten().flat_map(|utterance| &utterance.words);
    let phones = words().filter(|word| !word.is_any_speech).flat_map(|word| &word.phones);
    let Some(limit) = longest_usual(phones.map(|phone| phone.end - phone.begin)) else { return };
    let mut found = 0;
    let words = results.utterances.iter_mut().flatten().flat_map(|utterance| &mut utterance.words);
    for word in words.filter(|word| !word.is_doubtful && !word.is_any_speech) {
        word.is_doubtful = word.phones.iter().any(|phone| phone.end - phone.begin >= limit);
        found += usize::from(word.is_doubtful);
    }
    results.doubtful = results.doubtful.map(|doubtful| doubtful + found);
}

/// The seconds from which on a sound is too long, of those of all sounds; `None` for a few.
pub(crate) fn longest_usual(seconds: impl Iterator<Item = f64>) -> Option<f64> {
    Some(TOO_LONG.max(TIMES_MEDIAN * median(seconds)?))
}

/// Marks words with a long sound where it is quiet: a sound that nobody has said fits silence well, and has a good score.
fn mark_quiet(results: &mut Results, levels: &[Levels]) {
    let mut found = 0;
    for (utterance, levels) in results.utterances.iter_mut().zip(levels) {
        let Ok(utterance) = utterance else { continue };
        let begin = utterance.begin;
        for word in utterance.words.iter_mut().filter(|word| !word.is_doubtful && !word.is_any_speech) {
            word.is_doubtful = word.phones.iter().any(|phone| {
                phone.end - phone.begin >= LONG_SOUND
                    && levels.quiet_share(phone.begin - begin, phone.end - begin) > QUIET_SHARE
            });
            found += usize::from(word.is_doubtful);
        }
    }
    results.doubtful = results.doubtful.map(|doubtful| doubtful + found);
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

/// Marks words whose scores are far below those of most, and counts them. See [`are_low`].
pub(crate) fn mark_doubtful(results: &mut Results) {
    let mut words: Vec<&mut AlignedWord> = results
        .utterances
        .iter_mut()
        .flatten()
        .flat_map(|utterance| &mut utterance.words)
        .filter(|word| word.score.is_some())
        .collect();
    let scores: Vec<(f64, f64)> =
        words.iter().filter_map(|word| Some((word.score?, word.end - word.begin))).collect();
    if scores.is_empty() {
        return;
    }
    let are_low =
        are_low(&scores).unwrap_or_else(|| scores.iter().map(|(score, _)| *score < SURELY_LOW).collect());
    words.iter_mut().zip(&are_low).for_each(|(word, is_low)| word.is_doubtful = *is_low);
    results.doubtful = Some(are_low.into_iter().filter(|is_low| *is_low).count());
}

/// For each score of so many seconds, if it is far below most; `None` for a few scores.
///
/// The distance from the median counts by the square root of the time, as a mean of few frames varies more. Scores are skewed: those
/// above the median are near it. So the deviation is estimated from those below.
fn are_low(scores: &[(f64, f64)]) -> Option<Vec<bool>> {
    let median = median(scores.iter().map(|(score, _)| *score))?;
    let distance =
        |(score, seconds): &(f64, f64)| (score - median) * (seconds.clamp(0.0, LONG) / USUAL).sqrt();
    let distances: Vec<f64> = scores.iter().map(distance).collect();
    let mut below: Vec<f64> = distances.iter().filter(|distance| **distance < 0.0).map(|d| -d).collect();
    below.sort_by(f64::total_cmp);
    let deviation = NORMAL * below.get(below.len() / 2).copied().unwrap_or_default();
    Some(distances.into_iter().map(|distance| distance < -DEVIATIONS * deviation).collect())
}

/// The median; `None` for a few numbers.
fn median(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = numbers.collect();
    sorted.sort_by(f64::total_cmp);
    (sorted.len() >= LEAST_SCORES).then(|| sorted[sorted.len() / 2])
}

/// The median less some deviations, which outliers do not change; `None` for a few scores.
pub(crate) fn low_outliers(scores: impl Iterator<Item = f64>) -> Option<f64> {
    let scores: Vec<f64> = scores.collect();
    let middle = median(scores.iter().copied())?;
    let deviation = median(scores.iter().map(|score| (score - middle).abs()))?;
    Some(middle - DEVIATIONS * NORMAL * deviation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_words_are_doubtful_by_a_fixed_score() {
        let word = |score| AlignedWord {
            text: "two".to_owned(),
            begin: 0.0,
            end: 0.2,
            is_unknown: false,
            is_any_speech: false,
            phones: Vec::new(),
            score,
            is_doubtful: false,
        };
        let of = |scores: &[Option<f64>]| {
            let words = scores.iter().copied().map(word).collect();
            let utterance =
                AlignedUtterance { begin: 0.0, end: 1.0, words, log_likelihood: -50.0, retried: false };
            let mut results = Results {
                utterances: vec![Ok(utterance)],
                doubtful: None,
                left_out: Vec::new(),
                untexted: Vec::new(),
            };
            mark_doubtful(&mut results);
            results.doubtful
        };
        assert_eq!(of(&[Some(-18.0), Some(-0.3), Some(-40.0)]), Some(2));
        assert_eq!(of(&[Some(-0.3)]), Some(0));
        assert_eq!(of(&[None]), None);
    }

    #[test]
    fn sounds_that_are_much_longer_than_others_are_too_long() {
        let usual = || (0..40).map(|n| 0.03 + 0.003 * f64::from(n));
        assert_eq!(longest_usual(usual().chain([2.8])), Some(1.0));
        // Slow speech, such as songs.
        assert!((longest_usual(usual().map(|s| 4.0 * s)).unwrap() - 3.6).abs() < 1e-9);
        assert_eq!(longest_usual(usual().take(10)), None);
    }

    #[test]
    fn short_words_vary_and_long_ones_with_low_scores_are_doubtful() {
        // Scores near 0 that reach further down than up; words of 40 ms have larger deviations.
        let mut scores: Vec<(f64, f64)> = (0..100).map(|n| (-3.0 + 0.005 * f64::from(n), 0.2)).collect();
        scores.extend((0..100).map(|n| (-3.5 - 0.02 * f64::from(n), 0.2)));
        assert_eq!(are_low(&scores).unwrap().iter().filter(|is_low| **is_low).count(), 0);
        let odd = [(-9.0, 0.03), (-9.0, 0.3), (-9.0, 2.0), (-4.0, 2.0)];
        scores.extend(odd);
        let found = are_low(&scores).unwrap();
        assert_eq!(found[200..], [false, true, true, false]);
        assert_eq!(are_low(&scores[..19]), None);
    }
}
