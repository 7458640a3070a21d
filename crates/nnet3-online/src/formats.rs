//! The forms in which the text of a recording is written.

use std::fmt::Write as _;

use crate::json;
use crate::subtitles::{Cue, cues};
use crate::transcript::{Word, text};

/// The words between two pauses.
pub type Segment = Vec<Word>;

/// A form of a text.
#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A line for each file: its name without suffix, then the words
    Text,
    /// An object on a line for each file: its text, and its segments with the times and confidences of their words
    Json,
    /// Subtitles in SubRip's form: at most two lines of 42 characters, split at pauses. Several files need --output-dir
    Srt,
    /// Subtitles in the form of the web (WebVTT), split likewise
    Vtt,
    /// A line for each word: file, channel, begin and length in seconds, the word, its confidence
    Ctm,
}

impl Format {
    /// The end of the names of files in this form.
    pub fn suffix(self) -> &'static str {
        match self {
            Format::Text => "txt",
            Format::Json => "json",
            Format::Srt => "srt",
            Format::Vtt => "vtt",
            Format::Ctm => "ctm",
        }
    }

    /// True for forms with the times at which text is shown.
    pub fn is_subtitles(self) -> bool {
        matches!(self, Format::Srt | Format::Vtt)
    }
}

/// Returns the text of a file with this name, in whole lines.
pub fn write(format: Format, name: &str, segments: &[Segment]) -> String {
    match format {
        Format::Text => {
            let words: Vec<Word> = segments.concat();
            format!("{name} {}", text(&words)).trim_end().to_owned() + "\n"
        }
        Format::Json => format!("{}\n", json::recording(name, segments)),
        Format::Srt => srt(segments),
        Format::Vtt => vtt(segments),
        Format::Ctm => {
            let mut out = String::new();
            for Word { text, start, end, confidence } in segments.iter().flatten() {
                let length = end - start;
                // (Writing to a string does not fail.)
                let _always = writeln!(out, "{name} 1 {start:.2} {length:.2} {text} {confidence:.2}");
            }
            out
        }
    }
}

/// Hours, minutes, seconds and milliseconds; `point` stands before the milliseconds.
fn clock(time: f64, point: char) -> String {
    let milliseconds = (time.max(0.0) * 1000.0).round() as u64;
    let (seconds, minutes) = (milliseconds / 1000, milliseconds / 60_000);
    format!("{:02}:{:02}:{:02}{point}{:03}", minutes / 60, minutes % 60, seconds % 60, milliseconds % 1000)
}

fn srt(segments: &[Segment]) -> String {
    let mut out = String::new();
    for (i, Cue { start, end, lines }) in cues(segments).iter().enumerate() {
        let (number, lines) = (i + 1, lines.join("\n"));
        let _always = write!(out, "{number}\n{} --> {}\n{lines}\n\n", clock(*start, ','), clock(*end, ','));
    }
    out
}

fn vtt(segments: &[Segment]) -> String {
    let mut out = "WEBVTT\n\n".to_owned();
    for Cue { start, end, lines } in cues(segments) {
        let lines = lines.join("\n").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let _always = write!(out, "{} --> {}\n{lines}\n\n", clock(start, '.'), clock(end, '.'));
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words() -> Vec<Segment> {
        let word =
            |text: &str, start, end, confidence| Word { text: text.to_owned(), start, end, confidence };
        vec![
            vec![word("one", 0.5, 1.0, 0.75), word("two", 1.0, 1.25, 1.0)],
            vec![],
            vec![word("three", 3661.5, 3662.0, 0.5)],
        ]
    }

    #[test]
    fn all_forms() {
        let shown = |format| write(format, "u1", &words());
        assert_eq!(shown(Format::Text), "u1 one two three\n");
        assert_eq!(
            shown(Format::Ctm),
            "u1 1 0.50 0.50 one 0.75\nu1 1 1.00 0.25 two 1.00\nu1 1 3661.50 0.50 three 0.50\n"
        );
        assert_eq!(
            shown(Format::Srt),
            "1\n00:00:00,500 --> 00:00:01,250\none two\n\n2\n01:01:01,500 --> 01:01:02,000\nthree\n\n"
        );
        assert_eq!(
            shown(Format::Vtt),
            "WEBVTT\n\n00:00:00.500 --> 00:00:01.250\none two\n\n01:01:01.500 --> 01:01:02.000\nthree\n\n"
        );
        let unknown = Word { text: "<unk>".to_owned(), start: 0.0, end: 1.0, confidence: 1.0 };
        assert!(write(Format::Vtt, "u", &[vec![unknown]]).ends_with("\n&lt;unk&gt;\n\n"));
        let object: serde_json::Value = serde_json::from_str(&shown(Format::Json)).unwrap();
        assert_eq!((&object["file"], &object["text"]), (&json!("u1"), &json!("one two three")));
        assert_eq!(object["segments"].as_array().unwrap().len(), 2);
        assert_eq!(
            object["segments"][0]["words"][1],
            json!({ "word": "two", "start": 1.0, "end": 1.25, "conf": 1.0 })
        );
        assert_eq!(write(Format::Text, "u2", &[]), "u2\n");
    }
}
