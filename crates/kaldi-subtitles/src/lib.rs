//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Subtitles of words with times: [`cues`] makes cues that are short enough to read, [`srt`] and [`vtt`] write them.

#![warn(missing_docs)]

mod cues;

use std::fmt::Write as _;

pub use cues::{Cue, Turn, Word, cues};

/// Hours, minutes, seconds and milliseconds; `point` stands before the milliseconds.
pub fn clock(time: f64, point: char) -> String {
    let milliseconds = (time.max(0.0) * 1000.0).round() as u64;
    let (seconds, minutes) = (milliseconds / 1000, milliseconds / 60_000);
    format!("{:02}:{:02}:{:02}{point}{:03}", minutes / 60, minutes % 60, seconds % 60, milliseconds % 1000)
}

/// The text of a file in SubRip's form.
pub fn srt(cues: &[Cue]) -> String {
    let mut out = String::new();
    for (i, Cue { start, end, lines, label }) in cues.iter().enumerate() {
        let (number, lines) = (i + 1, lines.join("\n"));
        let label = label.as_ref().map_or(String::new(), |label| format!("{label}: "));
        let _always =
            write!(out, "{number}\n{} --> {}\n{label}{lines}\n\n", clock(*start, ','), clock(*end, ','));
    }
    out
}

/// The text of a file in the form of the web (WebVTT).
pub fn vtt(cues: &[Cue]) -> String {
    let mut out = "WEBVTT\n\n".to_owned();
    for Cue { start, end, lines, label } in cues {
        // (Characters that have a meaning in WebVTT.)
        let lines = lines.join("\n").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let voice = label.as_ref().map_or(String::new(), |label| format!("<v {label}>"));
        let _always = write!(out, "{} --> {}\n{voice}{lines}\n\n", clock(*start, '.'), clock(*end, '.'));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_hours_and_milliseconds() {
        assert_eq!(clock(3725.0426, ','), "01:02:05,043");
        assert_eq!(clock(0.0, '.'), "00:00:00.000");
    }
}
