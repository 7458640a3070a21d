//! Speech that a text lacks.

use std::ops::Range;

/// Seconds between two parts of one stretch, at most.
const BETWEEN: f64 = 0.3;
/// Seconds of sound that is not silence in a stretch, at least.
const LEAST: f64 = 0.5;
/// The share of a stretch that is not silence, at least.
const LEAST_SHARE: f64 = 0.5;

/// A frame of a long recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frame {
    Word,
    Silence,
    /// A pause of the text with sound in it.
    Sound,
}

/// Joins frames that have sound, but no word, to stretches. Frames are so many seconds apart. A word ends a stretch.
pub(super) fn stretches(frames: &[Frame], seconds: f64) -> Vec<Range<usize>> {
    let in_frames = |length: f64| (length / seconds).round() as usize;
    let (between, least) = (in_frames(BETWEEN), in_frames(LEAST));
    let mut found: Vec<(Range<usize>, usize)> = Vec::new();
    let mut last_word = None;
    for (at, frame) in frames.iter().enumerate() {
        match frame {
            Frame::Word => last_word = Some(at),
            Frame::Silence => {}
            Frame::Sound => match found.last_mut() {
                Some((stretch, count))
                    if at - stretch.end <= between && last_word.is_none_or(|word| word < stretch.end) =>
                {
                    stretch.end = at + 1;
                    *count += 1;
                }
                _ => found.push((at..at + 1, 1)),
            },
        }
    }
    let is_speech = |(stretch, count): &(Range<usize>, usize)| {
        *count >= least.max(1) && *count as f64 >= LEAST_SHARE * stretch.len() as f64
    };
    found.into_iter().filter(is_speech).map(|(stretch, _)| stretch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sound_between_words_is_joined_over_short_silence() {
        let frames = |text: &str| -> Vec<Frame> {
            let frame = |c: char| match c {
                'w' => Frame::Word,
                's' => Frame::Sound,
                _ => Frame::Silence,
            };
            text.chars().map(frame).collect()
        };
        // A tenth of a second each: five frames of sound, at most three of silence between them.
        let found = |text: &str| -> Vec<(usize, usize)> {
            stretches(&frames(text), 0.1).into_iter().map(|part| (part.start, part.end)).collect()
        };
        assert_eq!(found("ww..sss...ss..ww"), [(4, 12)]);
        assert_eq!(found("sssssss....sssss"), [(0, 7), (11, 16)]);
        // Too short, too thin, and with a word between.
        assert_eq!(found("ssss..ww...ssss"), []);
        assert_eq!(found("s...s...s...s...s"), []);
        assert_eq!(found("sssswsss"), []);
        assert_eq!(found("sssssw"), [(0, 5)]);
        assert_eq!(found(""), []);
    }
}
