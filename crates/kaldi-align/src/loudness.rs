//! Quiet stretches of utterances, by their first cepstra.

use std::ops::Range;

use kaldi_io::DenseMatrix;

use crate::utterance::Corpus;

/// Rounds of clustering.
const ROUNDS: usize = 20;
/// Frames on each side over which loudness is averaged.
const SMOOTHING: usize = 2;
/// Least frames of a quiet stretch at an end of an utterance, and inside it, where the closure of a stop is quiet, too.
const LEAST_AT_END: usize = 6;
const LEAST_INSIDE: usize = 20;

/// The loudness of each speaker, in two clusters.
#[derive(Debug, Clone, PartialEq)]
pub struct Loudness {
    /// For each speaker, the middle between the means of quiet and loud frames. `None` without frames.
    limits: Vec<Option<f32>>,
}

impl Loudness {
    /// Clusters the frames of each speaker.
    pub fn of(corpus: &Corpus) -> Loudness {
        let mut values: Vec<Vec<f32>> = vec![Vec::new(); corpus.speakers.len()];
        for piece in &corpus.pieces {
            for &place in &piece.members {
                values[piece.speaker].extend(smoothed(&corpus.utterances[place].features));
            }
        }
        Loudness { limits: values.iter().map(|values| limit(values)).collect() }
    }

    /// The quiet stretches of an utterance of a speaker.
    pub fn stretches(&self, speaker: usize, features: &DenseMatrix<f32>) -> Vec<Range<usize>> {
        let Some(limit) = self.limits[speaker] else { return Vec::new() };
        let values = smoothed(features);
        let frames = values.len();
        let mut stretches = Vec::new();
        let mut begin = 0;
        for part in values.chunk_by(|a, b| (*a < limit) == (*b < limit)) {
            let end = begin + part.len();
            let least = if begin == 0 || end == frames { LEAST_AT_END } else { LEAST_INSIDE };
            if part[0] < limit && part.len() >= least && part.len() < frames {
                stretches.push(begin..end);
            }
            begin = end;
        }
        stretches
    }
}

/// The first cepstra, averaged over neighbours.
fn smoothed(features: &DenseMatrix<f32>) -> Vec<f32> {
    let loudness: Vec<f32> =
        (0..features.rows).map(|t| features.row(t).first().copied().unwrap_or(0.0)).collect();
    let mean = |t: usize| {
        let part = &loudness[t.saturating_sub(SMOOTHING)..(t + 1 + SMOOTHING).min(loudness.len())];
        part.iter().sum::<f32>() / part.len() as f32
    };
    (0..loudness.len()).map(mean).collect()
}

/// The middle between the means of two clusters.
fn limit(values: &[f32]) -> Option<f32> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    let at = |share: f64| sorted.get((share * sorted.len() as f64) as usize).copied();
    let mut limit = (at(0.05)? + at(0.95)?) / 2.0;
    for _ in 0..ROUNDS {
        let quiet = sorted.partition_point(|value| *value < limit);
        if quiet == 0 || quiet == sorted.len() {
            break;
        }
        let mean = |part: &[f32]| part.iter().map(|&x| f64::from(x)).sum::<f64>() / part.len() as f64;
        limit = ((mean(&sorted[..quiet]) + mean(&sorted[quiet..])) / 2.0) as f32;
    }
    Some(limit)
}
