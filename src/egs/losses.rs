//! Counts of utterances that became examples, and of those that did not, by reason.

use std::collections::BTreeMap;

use crate::messages;

/// Utterances of each reason that the log names.
const NAMED: usize = 5;

/// The reason why an utterance has no example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// All sizes of chunks are longer, or there are fewer than two frames of output.
    TooShort,
    /// The tables of features, targets or supervision lack it.
    Missing,
    NoIvectors,
    /// Its features, targets, weights and i-vectors differ in length, or one of them is damaged.
    Mismatch,
    NotFinite,
    /// No path of its supervision fits its frames or the phone language model.
    NoPath,
}

impl Reason {
    fn words(self) -> &'static str {
        match self {
            Reason::TooShort => "too short",
            Reason::Missing => "without features or targets",
            Reason::NoIvectors => "without i-vectors",
            Reason::Mismatch => "parts that do not fit each other",
            Reason::NotFinite => "values that are not finite",
            Reason::NoPath => "supervision without a path",
        }
    }
}

/// The counts of a program that makes examples.
#[derive(Debug, Default)]
pub struct Losses {
    utterances: u64,
    frames: u64,
    used: u64,
    used_frames: u64,
    lost: BTreeMap<Reason, (u64, Vec<String>)>,
}

impl Losses {
    /// Notes an utterance of `frames` frames that has examples.
    pub fn used(&mut self, frames: usize) {
        self.utterances += 1;
        self.used += 1;
        self.frames += frames as u64;
        self.used_frames += frames as u64;
    }

    /// Notes an utterance of `frames` frames without an example.
    pub fn lost(&mut self, reason: Reason, key: &str, frames: usize) {
        self.utterances += 1;
        self.frames += frames as u64;
        let (count, keys) = self.lost.entry(reason).or_default();
        *count += 1;
        if keys.len() < NAMED {
            keys.push(key.to_owned());
        }
    }

    /// The lines of the log that `scripts/train/losses.sh` reads.
    fn lines(&self) -> Vec<String> {
        let Losses { utterances, frames, used, used_frames, lost } = self;
        let mut lines = vec![format!(
            "Examples come from {used} of {utterances} utterances with {used_frames} of {frames} frames"
        )];
        lines.extend(lost.iter().map(|(reason, (count, keys))| {
            let more = if *count > keys.len() as u64 { " …" } else { "" };
            format!("No example of {count} utterances, reason: {}: {}{more}", reason.words(), keys.join(" "))
        }));
        lines
    }

    /// Logs the counts; a warning for each reason.
    pub fn log(&self) {
        let lines = self.lines();
        for (number, line) in lines.iter().enumerate() {
            if number == 0 { messages::log(line) } else { messages::warn(line) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_utterances_frames_and_reasons() {
        let mut losses = Losses::default();
        losses.used(100);
        for n in 0..7 {
            losses.lost(Reason::TooShort, &format!("u{n}"), 10);
        }
        losses.lost(Reason::Missing, "v", 20);
        assert_eq!(
            losses.lines(),
            [
                "Examples come from 1 of 9 utterances with 100 of 190 frames",
                "No example of 7 utterances, reason: too short: u0 u1 u2 u3 u4 …",
                "No example of 1 utterances, reason: without features or targets: v",
            ]
        );
    }
}
