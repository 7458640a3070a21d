//! The forms that texts are written in.

use std::fmt::Write as _;

use crate::json;
pub use crate::segment::{Segment, sort_by_time};
use crate::subtitles::{Cue, cues};
use crate::transcript::{Alternative, Word, text};

/// The forms of texts.
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

    /// True of forms with lines of subtitles.
    pub fn is_subtitles(self) -> bool {
        matches!(self, Format::Srt | Format::Vtt)
    }
}

/// The parts of texts besides words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parts {
    /// The numbers of channels.
    pub channels: bool,
    /// Several texts of each sentence.
    pub alternatives: bool,
}

/// The text of a file with this name, in whole lines. Segments are in the order of time.
pub fn write(format: Format, parts: Parts, name: &str, segments: &[Segment]) -> String {
    match format {
        Format::Text if parts.alternatives => alternatives(parts, name, segments),
        Format::Text if parts.channels => turns(name, segments),
        Format::Text => {
            let words: Vec<Word> = segments.iter().flat_map(|segment| segment.words.clone()).collect();
            format!("{name} {}", text(&words)).trim_end().to_owned() + "\n"
        }
        Format::Json => format!("{}\n", recording(parts, name, segments)),
        Format::Srt => srt(parts, segments),
        Format::Vtt => vtt(parts, segments),
        Format::Ctm => {
            let mut out = String::new();
            let mut in_order: Vec<&Segment> = segments.iter().collect();
            // (Programs that score want the channels one after the other.)
            in_order.sort_by_key(|segment| segment.channel);
            for (channel, word) in in_order.iter().flat_map(|s| s.words.iter().map(|word| (s.channel, word)))
            {
                let Word { text, start, end, confidence } = word;
                let length = end - start;
                let _always = writeln!(out, "{name} {channel} {start:.2} {length:.2} {text} {confidence:.2}");
            }
            out
        }
    }
}

/// The text of a sentence of live sound, in whole lines; empty without words.
pub fn write_sentence(format: Format, parts: Parts, name: &str, segment: &Segment) -> String {
    match format {
        _ if segment.words.is_empty() => String::new(),
        Format::Json => {
            let mut object = json::sentence(&segment.words);
            let mut whole = serde_json::Map::from_iter([("file".to_owned(), name.into())]);
            add_parts(parts, segment, &mut object);
            whole.extend(object.as_object_mut().map(std::mem::take).unwrap_or_default());
            format!("{}\n", serde_json::Value::Object(whole))
        }
        _ => write(format, parts, name, std::slice::from_ref(segment)),
    }
}

/// A line for each turn of a channel.
fn turns(name: &str, segments: &[Segment]) -> String {
    let spoken: Vec<&Segment> = segments.iter().filter(|segment| !segment.words.is_empty()).collect();
    let line = |turn: &[&Segment]| {
        let texts: Vec<String> = turn.iter().map(|segment| text(&segment.words)).collect();
        format!("{name} channel{}: {}\n", turn[0].channel, texts.join(" "))
    };
    let lines: String = spoken.chunk_by(|a, b| a.channel == b.channel).map(line).collect();
    if lines.is_empty() { format!("{name}\n") } else { lines }
}

/// A line for each text of each sentence: the begin of the sentence, the rank of the text, its probability, its words.
fn alternatives(parts: Parts, name: &str, segments: &[Segment]) -> String {
    let mut lines = String::new();
    for segment in segments.iter().filter(|segment| !segment.words.is_empty()) {
        let channel = if parts.channels { format!("channel{}: ", segment.channel) } else { String::new() };
        for (rank, alternative) in (1..).zip(&segment.alternatives) {
            let (begin, probability, text) = (segment.start, alternative.probability, alternative.text());
            let line = format!("{name} {channel}{begin:.2} {rank} {probability:.3} {text}");
            lines += line.trim_end();
            lines.push('\n');
        }
    }
    if lines.is_empty() { format!("{name}\n") } else { lines }
}

/// A recording as JSON.
pub fn recording(parts: Parts, name: &str, segments: &[Segment]) -> serde_json::Value {
    let words: Vec<Vec<Word>> = segments.iter().map(|segment| segment.words.clone()).collect();
    let mut object = json::recording(name, &words);
    let spoken = segments.iter().filter(|segment| !segment.words.is_empty());
    for (object, segment) in object["segments"].as_array_mut().into_iter().flatten().zip(spoken) {
        add_parts(parts, segment, object);
    }
    object
}

/// Adds `channel` and `alternatives` to the object of a segment.
fn add_parts(parts: Parts, segment: &Segment, object: &mut serde_json::Value) {
    if parts.channels {
        object["channel"] = segment.channel.into();
    }
    if parts.alternatives {
        let alternative = |alternative: &Alternative| {
            let mut object = json::alternative(alternative);
            object["probability"] = ((f64::from(alternative.probability) * 1000.0).round() / 1000.0).into();
            object
        };
        object["alternatives"] = segment.alternatives.iter().map(alternative).collect();
    }
}

/// Hours, minutes, seconds and milliseconds; `point` stands before the milliseconds.
fn clock(time: f64, point: char) -> String {
    let milliseconds = (time.max(0.0) * 1000.0).round() as u64;
    let (seconds, minutes) = (milliseconds / 1000, milliseconds / 60_000);
    format!("{:02}:{:02}:{:02}{point}{:03}", minutes / 60, minutes % 60, seconds % 60, milliseconds % 1000)
}

fn srt(parts: Parts, segments: &[Segment]) -> String {
    let mut out = String::new();
    for (i, Cue { start, end, lines, channel }) in cues(segments).iter().enumerate() {
        let (number, lines) = (i + 1, lines.join("\n"));
        let speaker = if parts.channels { format!("[{channel}] ") } else { String::new() };
        let _always =
            write!(out, "{number}\n{} --> {}\n{speaker}{lines}\n\n", clock(*start, ','), clock(*end, ','));
    }
    out
}

fn vtt(parts: Parts, segments: &[Segment]) -> String {
    let mut out = "WEBVTT\n\n".to_owned();
    for Cue { start, end, lines, channel } in cues(segments) {
        let lines = lines.join("\n").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let speaker = if parts.channels { format!("<v channel{channel}>") } else { String::new() };
        let _always = write!(out, "{} --> {}\n{speaker}{lines}\n\n", clock(start, '.'), clock(end, '.'));
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn word(text: &str, start: f64, end: f64, confidence: f32) -> Word {
        Word { text: text.to_owned(), start, end, confidence }
    }

    fn segment(channel: usize, words: Vec<Word>) -> Segment {
        Segment { words, channel, ..Segment::default() }
    }

    fn segments() -> Vec<Segment> {
        vec![
            segment(1, vec![word("one", 0.5, 1.0, 0.75), word("two", 1.0, 1.25, 1.0)]),
            segment(1, vec![]),
            segment(1, vec![word("three", 3661.5, 3662.0, 0.5)]),
        ]
    }

    #[test]
    fn all_forms() {
        let shown = |format| write(format, Parts::default(), "u1", &segments());
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
        let unknown = segment(1, vec![word("<unk>", 0.0, 1.0, 1.0)]);
        let shown_unknown = write(Format::Vtt, Parts::default(), "u", &[unknown]);
        assert!(shown_unknown.ends_with("\n&lt;unk&gt;\n\n"));
        let object: serde_json::Value = serde_json::from_str(&shown(Format::Json)).unwrap();
        assert_eq!((&object["file"], &object["text"]), (&json!("u1"), &json!("one two three")));
        assert_eq!(object["segments"].as_array().unwrap().len(), 2);
        assert_eq!(
            object["segments"][0]["words"][1],
            json!({ "word": "two", "start": 1.0, "end": 1.25, "conf": 1.0 })
        );
        assert_eq!(write(Format::Text, Parts::default(), "u2", &[]), "u2\n");
    }

    #[test]
    fn channels_have_turns() {
        let parts = Parts { channels: true, alternatives: false };
        let segments = [
            segment(2, vec![word("one", 0.5, 1.0, 1.0)]),
            segment(2, vec![word("two", 2.0, 2.5, 1.0)]),
            segment(1, vec![word("three", 2.25, 3.0, 1.0)]),
            segment(2, vec![]),
        ];
        let shown = |format| write(format, parts, "u", &segments);
        assert_eq!(shown(Format::Text), "u channel2: one two\nu channel1: three\n");
        assert_eq!(
            shown(Format::Ctm),
            "u 1 2.25 0.75 three 1.00\nu 2 0.50 0.50 one 1.00\nu 2 2.00 0.50 two 1.00\n"
        );
        // Speech of both channels at a time keeps its times.
        assert!(shown(Format::Srt).contains("3\n00:00:02,250 --> 00:00:03,000\n[1] three\n"));
        assert!(shown(Format::Vtt).contains("00:00:00.500 --> 00:00:01.000\n<v channel2>one\n"));
        let object: serde_json::Value = serde_json::from_str(&shown(Format::Json)).unwrap();
        let channels: Vec<_> = (0..3).map(|i| object["segments"][i]["channel"].clone()).collect();
        assert_eq!(channels, [json!(2), json!(2), json!(1)]);
        assert_eq!(write(Format::Text, parts, "u", &segments[3..]), "u\n");
        let live = write_sentence(Format::Json, parts, "-", &segments[2]);
        let object: serde_json::Value = serde_json::from_str(&live).unwrap();
        assert!(live.starts_with(r#"{"file":"-","start":2.25,"#), "{live}");
        assert_eq!((&object["text"], &object["channel"]), (&json!("three"), &json!(1)));
        assert_eq!(write_sentence(Format::Json, parts, "-", &segments[3]), "");
    }

    #[test]
    fn sentences_have_alternatives() {
        let alternative = |words, probability| Alternative { words, log_likelihood: -7.5, probability };
        let words = vec![word("one", 0.5, 1.0, 0.75)];
        let alternatives = vec![alternative(words.clone(), 0.75), alternative(vec![], 0.25)];
        let segments = [Segment { words, start: 0.25, alternatives, channel: 1 }];
        let parts = Parts { channels: false, alternatives: true };
        assert_eq!(write(Format::Text, parts, "u", &segments), "u 0.25 1 0.750 one\nu 0.25 2 0.250\n");
        let object: serde_json::Value =
            serde_json::from_str(&write(Format::Json, parts, "u", &segments)).unwrap();
        assert_eq!(
            object["segments"][0]["alternatives"][1],
            json!({ "text": "", "confidence": -7.5, "probability": 0.25 })
        );
        assert_eq!(object["segments"][0]["alternatives"][0]["result"][0]["word"], "one");
    }
}
