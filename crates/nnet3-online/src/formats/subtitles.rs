//! Subtitles: SubRip and WebVTT.

use kaldi_subtitles::{Cue, Turn, Word, cues};

use super::turns::turns;
use super::{Parts, Segment};

/// The cues of a recording, with labels as the parts say.
fn of_segments(parts: Parts, segments: &[Segment]) -> Vec<Cue> {
    let turns = turns(parts, segments).into_iter().map(|turn| {
        let word = |word: &crate::transcript::Word| Word {
            text: word.text.clone(),
            start: word.start,
            end: word.end,
        };
        Turn {
            words: turn.words.iter().map(word).collect(),
            channel: turn.channel,
            label: parts.label(turn.channel, turn.speaker),
        }
    });
    cues(turns)
}

pub(super) fn srt(parts: Parts, segments: &[Segment]) -> String {
    kaldi_subtitles::srt(&of_segments(parts, segments))
}

pub(super) fn vtt(parts: Parts, segments: &[Segment]) -> String {
    kaldi_subtitles::vtt(&of_segments(parts, segments))
}
