//! Plain lines of text.

use super::turns::{Turn, turns};
use super::{Parts, Segment, clock};
use crate::transcript::text;

/// A line for the recording, or for each turn if there are labels or times, or for each of several texts of a sentence.
pub(super) fn write(parts: Parts, name: &str, segments: &[Segment]) -> String {
    let before = if name.is_empty() { String::new() } else { format!("{name} ") };
    let lines: Vec<String> = match parts {
        Parts { alternatives: true, .. } => alternatives(parts, segments),
        Parts { times: true, .. } => turns(parts, segments).iter().map(|turn| timed(parts, turn)).collect(),
        _ => {
            let all = turns(parts, segments);
            let label = |turn: &Turn| parts.label(turn.channel, turn.speaker);
            all.chunk_by(|a, b| label(a) == label(b)).map(|same| labelled(label(&same[0]), same)).collect()
        }
    };
    match lines.is_empty() {
        true if name.is_empty() => String::new(),
        true => format!("{name}\n"),
        false => lines.iter().map(|line| format!("{before}{line}").trim_end().to_owned() + "\n").collect(),
    }
}

fn labelled(label: Option<String>, turns: &[Turn]) -> String {
    let texts: Vec<String> = turns.iter().map(|turn| text(turn.words)).collect();
    label.map_or(String::new(), |label| format!("{label}: ")) + &texts.join(" ")
}

/// `[00:00:01.250 --> 00:00:02.000] Speaker 1: …`
fn timed(parts: Parts, turn: &Turn) -> String {
    let label = parts.label(turn.channel, turn.speaker);
    let (begin, end) = (clock(turn.begin(), '.'), clock(turn.end(), '.'));
    format!("[{begin} --> {end}] {}", labelled(label, std::slice::from_ref(turn)))
}

/// The begin of the sentence, the rank of the text, its probability, its words.
fn alternatives(parts: Parts, segments: &[Segment]) -> Vec<String> {
    let mut lines = Vec::new();
    for segment in segments.iter().filter(|segment| !segment.words.is_empty()) {
        let channel = if parts.channels { format!("Channel {}: ", segment.channel) } else { String::new() };
        for (rank, alternative) in (1..).zip(&segment.alternatives) {
            let (begin, probability, text) = (segment.start, alternative.probability, alternative.text());
            lines.push(format!("{channel}{begin:.2} {rank} {probability:.3} {text}"));
        }
    }
    lines
}
