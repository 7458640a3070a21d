//! Subtitles with a word or a phrase each.

use kaldi_subtitles::{Cue, Turn, Word, cues, srt, vtt};

use super::{OfRecording, Subtitles};
use crate::aligned::AlignedUtterance;

/// The text of an SRT file, or of a WebVTT file.
pub(super) fn text(of: &OfRecording, subtitles: Subtitles, web: bool) -> String {
    let spoken = |utterance: &AlignedUtterance| -> Vec<Word> {
        let words = utterance.words.iter().filter(|word| word.end > word.begin);
        words.map(|word| Word { text: word.text.clone(), start: word.begin, end: word.end }).collect()
    };
    let utterances = of.aligned().map(|(_, utterance)| spoken(utterance));
    let cues = match subtitles {
        Subtitles::Words => {
            let cue =
                |word: Word| Cue { start: word.start, end: word.end, lines: vec![word.text], label: None };
            utterances.flatten().map(cue).collect()
        }
        Subtitles::Phrases => cues(utterances.map(|words| Turn { words, channel: 0, label: None })),
    };
    if web { vtt(&cues) } else { srt(&cues) }
}
