//! Subtitles: SubRip and WebVTT.

use std::fmt::Write as _;

use super::cues::{Cue, cues};
use super::{Parts, Segment};

/// Hours, minutes, seconds and milliseconds; `point` stands before the milliseconds.
pub fn clock(time: f64, point: char) -> String {
    let milliseconds = (time.max(0.0) * 1000.0).round() as u64;
    let (seconds, minutes) = (milliseconds / 1000, milliseconds / 60_000);
    format!("{:02}:{:02}:{:02}{point}{:03}", minutes / 60, minutes % 60, seconds % 60, milliseconds % 1000)
}

pub(super) fn srt(parts: Parts, segments: &[Segment]) -> String {
    let mut out = String::new();
    for (i, Cue { start, end, lines, label }) in cues(parts, segments).iter().enumerate() {
        let (number, lines) = (i + 1, lines.join("\n"));
        let label = label.as_ref().map_or(String::new(), |label| format!("{label}: "));
        let _always =
            write!(out, "{number}\n{} --> {}\n{label}{lines}\n\n", clock(*start, ','), clock(*end, ','));
    }
    out
}

pub(super) fn vtt(parts: Parts, segments: &[Segment]) -> String {
    let mut out = "WEBVTT\n\n".to_owned();
    for Cue { start, end, lines, label } in cues(parts, segments) {
        let lines = lines.join("\n").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let voice = label.map_or(String::new(), |label| format!("<v {label}>"));
        let _always = write!(out, "{} --> {}\n{voice}{lines}\n\n", clock(start, '.'), clock(end, '.'));
    }
    out
}
