//! Sentences of a recording, as the forms of texts need them.

use crate::speakers::SpeakerVector;
use crate::transcript::{Alternative, Transcript, Word};
use crate::voices::Voices;

/// The words between two pauses.
#[derive(Debug, Clone, Default)]
pub struct Segment {
    /// Words with times in seconds from the beginning of the sound.
    pub words: Vec<Word>,
    /// The beginning, in seconds from the beginning of the sound.
    pub start: f64,
    /// The likeliest texts, if they were asked for.
    pub alternatives: Vec<Alternative>,
    /// The channel, from 1.
    pub channel: usize,
    /// The speaker of each word, from 1, `None` if it is not known. Empty if speakers were not asked for.
    pub speakers: Vec<Option<usize>>,
    /// The vector of its voice, as vosk has it, if speakers were asked for.
    pub voice: Option<SpeakerVector>,
}

impl Segment {
    /// Takes the words of a transcript whose confidence is at least `min_confidence`; also returns its voices, with the
    /// numbers of these words.
    pub fn of(transcript: Transcript, channel: usize, min_confidence: f32) -> (Segment, Option<Voices>) {
        let mut transcript = transcript;
        transcript.retain(|word| word.confidence >= min_confidence);
        let Transcript { words, start, alternatives, voices, .. } = transcript;
        (Segment { words, start, alternatives, channel, ..Segment::default() }, voices)
    }

    /// The beginning of its first word, or of the sentence.
    pub fn begin(&self) -> f64 {
        self.words.first().map_or(self.start, |word| word.start)
    }
}

/// Puts the sentences of several channels in the order of time, and those that begin at the same time in the order of channels.
pub fn sort_by_time(segments: &mut [Segment]) {
    segments.sort_by(|a, b| a.begin().total_cmp(&b.begin()).then(a.channel.cmp(&b.channel)));
}

#[cfg(test)]
mod tests {
    use crate::voices::Phrase;

    use super::*;

    #[test]
    fn sentences_of_the_same_time_are_in_the_order_of_channels() {
        let sentence = |start: f64, channel: usize| Segment { start, channel, ..Segment::default() };
        let mut all =
            [sentence(1.0, 2), sentence(0.0, 2), sentence(1.0, 1), sentence(0.0, 3), sentence(0.0, 1)];
        sort_by_time(&mut all);
        let order = all.map(|segment| (segment.start, segment.channel));
        assert_eq!(order, [(0.0, 1), (0.0, 2), (0.0, 3), (1.0, 1), (1.0, 2)]);
    }

    #[test]
    fn unsure_words_are_left_out() {
        let word = |text: &str, confidence| Word { text: text.to_owned(), start: 0.0, end: 1.0, confidence };
        let words = vec![word("a", 0.2), word("b", 0.5), word("c", 0.9), word("d", 0.4), word("e", 0.6)];
        let phrase = |words| Phrase { words, vector: None };
        let phrases = vec![phrase(0..3), phrase(3..4), phrase(4..5)];
        let voices = Some(Voices { whole: None, phrases });
        let transcript = Transcript { words, voices, ..Transcript::default() };
        let (segment, voices) = Segment::of(transcript, 1, 0.5);
        let texts: Vec<&str> = segment.words.iter().map(|word| &*word.text).collect();
        assert_eq!(texts, ["b", "c", "e"]);
        assert_eq!(voices.unwrap().phrases, [phrase(0..2), phrase(2..3)]);
    }
}
