//! The forms that texts are written in.

mod subtitles;
mod table;
#[cfg(test)]
mod tests;
mod text;
#[cfg(feature = "sound")]
mod textgrid;
mod turns;

pub use kaldi_subtitles::clock;

use crate::json;
pub use crate::segment::{Segment, sort_by_time};
use crate::transcript::{Alternative, Word};

/// The forms of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Lines of words.
    Text,
    /// Objects on lines.
    Json,
    /// Subtitles in SubRip's form.
    Srt,
    /// Subtitles in the form of the web (WebVTT).
    Vtt,
    /// A line for each word.
    Ctm,
    /// A table with commas between columns.
    Csv,
    /// A table with tabs between columns.
    Tsv,
    /// A line for each speaker's turn.
    Rttm,
    /// Tiers for Praat.
    #[cfg(feature = "sound")]
    TextGrid,
}

impl Format {
    /// All forms.
    pub const ALL: &[Format] = &[
        Format::Text,
        Format::Json,
        Format::Srt,
        Format::Vtt,
        Format::Ctm,
        Format::Csv,
        Format::Tsv,
        Format::Rttm,
        #[cfg(feature = "sound")]
        Format::TextGrid,
    ];

    /// The name of the form on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            #[cfg(feature = "sound")]
            Format::TextGrid => "textgrid",
            _ => self.suffix(),
        }
    }

    /// The end of the names of files in this form.
    pub fn suffix(self) -> &'static str {
        match self {
            Format::Text => "txt",
            Format::Json => "json",
            Format::Srt => "srt",
            Format::Vtt => "vtt",
            Format::Ctm => "ctm",
            Format::Csv => "csv",
            Format::Tsv => "tsv",
            Format::Rttm => "rttm",
            #[cfg(feature = "sound")]
            Format::TextGrid => "TextGrid",
        }
    }

    /// The form of files whose names end like this (`.txt` or `.text` for text); capitals do not count.
    pub fn of_suffix(suffix: &str) -> Option<Format> {
        let is_named = |format: &Format| {
            [format.suffix(), format.name()].iter().any(|name| name.eq_ignore_ascii_case(suffix))
        };
        Format::ALL.iter().copied().find(is_named)
    }

    /// The endings of the names of files in all forms: `.txt, .json, …`.
    pub fn suffixes() -> String {
        let all = Format::ALL.iter();
        all.map(|format| format!(".{}", format.suffix())).collect::<Vec<_>>().join(", ")
    }

    /// True of forms with a file for each recording.
    pub fn is_of_one_file(self) -> bool {
        match self {
            Format::Srt | Format::Vtt => true,
            #[cfg(feature = "sound")]
            Format::TextGrid => true,
            _ => false,
        }
    }

    /// True of forms in which blanks separate columns.
    pub fn has_columns(self) -> bool {
        matches!(self, Format::Text | Format::Ctm | Format::Rttm)
    }

    /// True of forms with lines of their own for each sentence, so that these can be written one by one.
    pub fn comes_by_sentences(self) -> bool {
        !self.is_of_one_file()
    }

    /// The line before all others, if the form has one. [`write()`] begins with it; a file with the texts of several recordings
    /// has it once.
    pub fn head(self) -> String {
        match self {
            Format::Csv => table::head(b','),
            Format::Tsv => table::head(b'\t'),
            _ => String::new(),
        }
    }
}

/// The parts of texts besides words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parts {
    /// The numbers of channels.
    pub channels: bool,
    /// Several texts of each sentence.
    pub alternatives: bool,
    /// The speakers of words.
    pub speakers: bool,
    /// The times of sentences in [`Format::Text`].
    pub times: bool,
}

/// A recording that was recognised.
#[derive(Debug, Clone, Copy)]
pub struct Recognized<'r> {
    /// Its name. Lines of [`Format::Text`] begin with it unless it is empty.
    pub name: &'r str,
    /// Its sentences, in the order of time.
    pub segments: &'r [Segment],
    /// Its length in seconds, for TextGrids.
    pub seconds: f64,
}

/// The text of a recording, in whole lines.
pub fn write(format: Format, parts: Parts, recording: &Recognized) -> String {
    let Recognized { name, segments, .. } = *recording;
    match format {
        Format::Text => text::write(parts, name, segments),
        Format::Json => format!("{}\n", self::recording(parts, name, segments)),
        Format::Srt => subtitles::srt(parts, segments),
        Format::Vtt => subtitles::vtt(parts, segments),
        Format::Ctm => table::ctm(parts, name, segments),
        Format::Csv => table::rows(b',', parts, name, segments),
        Format::Tsv => table::rows(b'\t', parts, name, segments),
        Format::Rttm => table::rttm(parts, name, segments),
        #[cfg(feature = "sound")]
        Format::TextGrid => textgrid::write(parts, recording),
    }
}

/// The text of a sentence that is written before the recording has ended, in whole lines, without the [head](Format::head); empty without
/// words.
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
        _ => {
            let segments = std::slice::from_ref(segment);
            let seconds = segment.words.last().map_or(segment.start, |word| word.end);
            let text = write(format, parts, &Recognized { name, segments, seconds });
            text.strip_prefix(&format.head()).map(str::to_owned).unwrap_or(text)
        }
    }
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

/// Adds `channel`, `alternatives` and speakers to the object of a segment.
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
    if parts.speakers {
        if let Some(vector) = &segment.voice {
            object["spk"] = vector.values.clone().into();
            object["spk_frames"] = vector.frames.into();
        }
        for (word, speaker) in segment.speakers.iter().enumerate() {
            object["words"][word]["speaker"] = (*speaker).into();
        }
    }
}
