//! Subtitles with a word each.

use std::fmt::Write;

use super::OfRecording;

/// The text of an SRT file, or of a WebVTT file.
pub(super) fn text(of: &OfRecording, web: bool) -> String {
    let mut out = String::from(if web { "WEBVTT\n\n" } else { "" });
    let words = of.aligned().flat_map(|(_, utterance)| &utterance.words);
    let point = if web { '.' } else { ',' };
    for (number, word) in words.filter(|word| word.end > word.begin).enumerate() {
        if !web {
            let _ = writeln!(out, "{}", number + 1);
        }
        // Characters that have a meaning in WebVTT.
        let escaped = || word.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let text = if web { escaped() } else { word.text.clone() };
        let _ = write!(out, "{} --> {}\n{text}\n\n", time(word.begin, point), time(word.end, point));
    }
    out
}

fn time(seconds: f64, point: char) -> String {
    let all = (seconds * 1000.0).round() as u64;
    let (hours, minutes) = (all / 3_600_000, all / 60_000 % 60);
    format!("{hours:02}:{minutes:02}:{:02}{point}{:03}", all / 1000 % 60, all % 1000)
}

#[cfg(test)]
mod tests {
    #[test]
    fn times_have_hours_and_milliseconds() {
        assert_eq!(super::time(3725.0426, ','), "01:02:05,043");
        assert_eq!(super::time(0.0, '.'), "00:00:00.000");
    }
}
