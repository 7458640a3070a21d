//! Words of one speaker in a row, and labels that say who speaks.

use super::{Parts, Segment};
use crate::transcript::Word;

/// Words of a sentence that one speaker says in a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn<'s> {
    /// At least one word.
    pub words: &'s [Word],
    /// From 1.
    pub channel: usize,
    /// From 1; `None` if it is not known.
    pub speaker: Option<usize>,
}

impl Turn<'_> {
    pub fn begin(&self) -> f64 {
        self.words[0].start
    }

    pub fn end(&self) -> f64 {
        self.words[self.words.len() - 1].end
    }

    /// The mean confidence of its words.
    pub fn confidence(&self) -> f64 {
        self.words.iter().map(|word| f64::from(word.confidence)).sum::<f64>() / self.words.len() as f64
    }
}

/// Turns of all sentences, in their order.
pub(super) fn turns(parts: Parts, segments: &[Segment]) -> Vec<Turn<'_>> {
    let mut all = Vec::new();
    for Segment { words, channel, speakers, .. } in segments {
        let speaker = |word: usize| if parts.speakers { speakers.get(word).copied().flatten() } else { None };
        let mut begin = 0;
        for end in 1..=words.len() {
            if end == words.len() || speaker(end) != speaker(begin) {
                let words = &words[begin..end];
                all.push(Turn { words, channel: *channel, speaker: speaker(begin) });
                begin = end;
            }
        }
    }
    all
}

impl Parts {
    /// A label as people write it: `Speaker 1`, `Channel 2`. `None` if texts have neither.
    pub(super) fn label(self, channel: usize, speaker: Option<usize>) -> Option<String> {
        match speaker {
            _ if !self.speakers => self.channels.then(|| format!("Channel {channel}")),
            Some(speaker) => Some(format!("Speaker {speaker}")),
            None => Some("Speaker ?".to_owned()),
        }
    }

    /// A name without blanks: `speaker1`, `channel2`, `unknown`.
    pub(super) fn speaker_name(self, channel: usize, speaker: Option<usize>) -> String {
        match speaker {
            _ if !self.speakers => format!("channel{channel}"),
            Some(speaker) => format!("speaker{speaker}"),
            None => "unknown".to_owned(),
        }
    }
}
