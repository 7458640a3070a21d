//! Lines with columns: CTM, RTTM, CSV.

use std::fmt::Write as _;

use super::turns::turns;
use super::{Parts, Segment};
use crate::transcript::{Word, text};

/// Columns of the table of sentences.
const COLUMNS: [&str; 7] = ["file", "begin", "end", "channel", "speaker", "confidence", "text"];

/// A line for each word, one channel after the other, as programs that score want them. With speakers, NIST's columns of the
/// kind of word and of its speaker follow.
pub(super) fn ctm(parts: Parts, name: &str, segments: &[Segment]) -> String {
    let mut out = String::new();
    let mut in_order: Vec<&Segment> = segments.iter().collect();
    in_order.sort_by_key(|segment| segment.channel);
    for turn in in_order.iter().flat_map(|segment| turns(parts, std::slice::from_ref(*segment))) {
        let (channel, speaker) = (turn.channel, parts.speaker_name(turn.channel, turn.speaker));
        let rest = if parts.speakers { format!(" lex {speaker}") } else { String::new() };
        for Word { text, start, end, confidence } in turn.words {
            let length = end - start;
            let _always =
                writeln!(out, "{name} {channel} {start:.2} {length:.2} {text} {confidence:.2}{rest}");
        }
    }
    out
}

/// A line for each turn.
pub(super) fn rttm(parts: Parts, name: &str, segments: &[Segment]) -> String {
    let line = |turn: &super::turns::Turn| {
        let (begin, length) = (turn.begin(), turn.end() - turn.begin());
        let (channel, speaker) = (turn.channel, parts.speaker_name(turn.channel, turn.speaker));
        format!("SPEAKER {name} {channel} {begin:.3} {length:.3} <NA> <NA> {speaker} <NA> <NA>\n")
    };
    turns(parts, segments).iter().map(line).collect()
}

/// The line with the names of columns.
pub(super) fn head(delimiter: u8) -> String {
    written(delimiter, |table| table.write_record(COLUMNS))
}

/// The line with the names of columns, and one for each turn.
pub(super) fn rows(delimiter: u8, parts: Parts, name: &str, segments: &[Segment]) -> String {
    let number = |number: f64| format!("{number:.3}");
    head(delimiter)
        + &written(delimiter, |table| {
            turns(parts, segments).iter().try_for_each(|turn| {
                let speaker = turn.speaker.map_or(String::new(), |speaker| speaker.to_string());
                let channel = turn.channel.to_string();
                let (begin, end, confidence) =
                    (number(turn.begin()), number(turn.end()), number(turn.confidence()));
                let words = text(turn.words);
                table.write_record([name, &begin, &end, &channel, &speaker, &confidence, &words])
            })
        })
}

/// The text that is written to a table in memory, which does not fail.
fn written(delimiter: u8, write: impl FnOnce(&mut csv::Writer<&mut Vec<u8>>) -> csv::Result<()>) -> String {
    let mut bytes = Vec::new();
    let mut table = csv::WriterBuilder::new().delimiter(delimiter).from_writer(&mut bytes);
    let _always = write(&mut table).and_then(|()| Ok(table.flush()?));
    drop(table);
    String::from_utf8_lossy(&bytes).into_owned()
}
