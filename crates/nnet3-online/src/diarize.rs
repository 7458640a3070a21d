//! Numbers of speakers for the words of a recording.

use std::sync::Arc;

use crate::error::Result;
use crate::segment::Segment;
use crate::speakers::{SpeakerModel, SpeakerVector};
use crate::voices::{Phrase, Voices};

/// A speaker model, and the threshold for joining phrases.
#[derive(Clone)]
pub struct Speakers {
    /// Makes vectors of phrases, and compares them.
    pub model: Arc<SpeakerModel>,
    /// Phrases are of one speaker while their mean score is above it. `None`: the usual one ([`SpeakerModel::cluster`]).
    pub threshold: Option<f32>,
}

impl Speakers {
    /// Returns the number of the speaker of each phrase, from 1. A phrase without a vector has the speaker of the phrase
    /// before it, or else after it, in its sentence; `None` without such a phrase.
    fn numbers(&self, voices: &[Voices]) -> Result<Vec<Vec<Option<usize>>>> {
        let phrases = || voices.iter().flat_map(|voices| &voices.phrases);
        let known: Vec<&SpeakerVector> = phrases().filter_map(|phrase| phrase.vector.as_ref()).collect();
        let mut labels = self.model.cluster(&known, self.threshold)?.into_iter();
        let of_segment = |voices: &Voices| {
            let number = |phrase: &Phrase| phrase.vector.as_ref().and_then(|_| labels.next());
            filled(voices.phrases.iter().map(number).collect())
        };
        Ok(voices.iter().map(of_segment).collect())
    }

    /// Gives each word of the segments its speaker, and each segment its voice. There are voices for each segment.
    ///
    /// # Errors
    /// Vectors of other dimensions than the model's.
    pub fn label(&self, segments: &mut [Segment], voices: Vec<Voices>) -> Result<()> {
        let speakers = self.of_words(&voices)?;
        for (segment, (voices, speakers)) in segments.iter_mut().zip(voices.into_iter().zip(speakers)) {
            segment.speakers = speakers;
            segment.voice = voices.whole;
        }
        Ok(())
    }

    /// Returns the speaker of each word of each sentence, from 1; `None` if it is not known.
    ///
    /// # Errors
    /// Vectors of other dimensions than the model's.
    pub fn of_words(&self, voices: &[Voices]) -> Result<Vec<Vec<Option<usize>>>> {
        let numbers = self.numbers(voices)?;
        Ok(voices.iter().zip(&numbers).map(|(voices, numbers)| of_words(voices, numbers)).collect())
    }
}

/// Gives each word the number of its phrase. Each word of a sentence is in one of its phrases, which are in order.
fn of_words(voices: &Voices, numbers: &[Option<usize>]) -> Vec<Option<usize>> {
    let phrases = voices.phrases.iter().zip(numbers);
    phrases.flat_map(|(phrase, number)| vec![*number; phrase.words.len()]).collect()
}

fn filled(mut numbers: Vec<Option<usize>>) -> Vec<Option<usize>> {
    let mut last = numbers.iter().flatten().next().copied();
    for number in &mut numbers {
        last = number.or(last);
        *number = last;
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::Word;
    use crate::voices::phrases;

    fn word(text: &str, start: f64) -> Word {
        Word { text: text.to_owned(), start, end: start + 0.5, confidence: 1.0 }
    }

    #[test]
    fn words_have_the_speakers_of_their_phrases() {
        let words = [word("one", 0.0), word("two", 0.5), word("three", 1.5), word("four", 2.5)];
        let ranges = phrases(&words);
        assert_eq!(ranges, [0..2, 2..3, 3..4]);
        let phrases = ranges.into_iter().map(|words| Phrase { words, vector: None }).collect();
        let voices = Voices { whole: None, phrases };
        assert_eq!(of_words(&voices, &[Some(1), Some(2), None]), [Some(1), Some(1), Some(2), None]);
        assert!(of_words(&Voices::default(), &[]).is_empty());
    }

    #[test]
    fn short_phrases_belong_to_their_neighbours() {
        assert_eq!(
            filled(vec![None, Some(2), None, Some(1), None]),
            [Some(2), Some(2), Some(2), Some(1), Some(1)]
        );
        assert_eq!(filled(vec![None, None]), [None, None]);
    }
}
