//! Voices of a sentence: the vector of the whole, and of the phrases between its pauses.

use std::ops::Range;

use kaldi_io::DenseMatrix;

use crate::error::Result;
use crate::speakers::{SpeakerModel, SpeakerVector};
use crate::transcript::Word;

/// Seconds without a word after which another speaker may speak.
const PAUSE: f64 = 0.2;

/// Words without a pause between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Phrase {
    /// Numbers of its words in the sentence.
    pub words: Range<usize>,
    /// The vector of its voice; `None` if it has too little speech.
    pub vector: Option<SpeakerVector>,
}

/// The voices of a sentence.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Voices {
    /// The vector of the whole, as vosk has it.
    pub whole: Option<SpeakerVector>,
    /// Words between pauses, with their vectors.
    pub phrases: Vec<Phrase>,
}

impl Voices {
    /// Makes the vectors of a sentence and its phrases. The sentence begins at `start` seconds, and `features` are those of the
    /// speaker model from there on. `speech` tells for each output frame, of `frame` seconds, if it is speech.
    ///
    /// # Errors
    /// The network of the speaker model fails.
    pub fn of(
        model: &SpeakerModel,
        sentence: &[Word],
        features: &DenseMatrix<f32>,
        start: f64,
        (speech, frame): (&[bool], f32),
    ) -> Result<Voices> {
        let shift = model.frame_shift();
        // Rounding must not move a boundary.
        let is_speech =
            |t: usize| speech.get((t as f32 * shift / frame + 1e-3) as usize).copied().unwrap_or(false);
        let words = phrases(sentence);
        let at = |time: f64| ((time - start).max(0.0) / f64::from(shift)).round() as usize;
        let range = |words: &Range<usize>| at(sentence[words.start].start)..at(sentence[words.end - 1].end);
        let ranges: Vec<Range<usize>> = words.iter().map(range).collect();
        let (whole, vectors) = model.vectors(features, is_speech, &ranges)?;
        let phrases = words.into_iter().zip(vectors).map(|(words, vector)| Phrase { words, vector });
        Ok(Voices { whole, phrases: phrases.collect() })
    }
}

/// Splits a sentence where no word is said for [`PAUSE`] seconds.
pub fn phrases(sentence: &[Word]) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    for (i, word) in sentence.iter().enumerate() {
        match out.last_mut() {
            Some(last) if word.start - sentence[i - 1].end < PAUSE => last.end = i + 1,
            _ => out.push(i..i + 1),
        }
    }
    out
}
