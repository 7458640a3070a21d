//! Windows of long recordings, which overlap by a sixth: their features, and the words that are heard in them.

use std::collections::BTreeMap;

use kaldi_lang::plain_text::{self, fields, lines};
use rustc_hash::FxHashMap;

use super::{FRAMES, digits, known_words, lengths, line_error, write};
use crate::Result;

/// Words of a piece of a transcript, and words from one piece to the next.
const PIECE: usize = 12;
const STEP: usize = 4;

/// Frames of a window, and those that it shares with the next one.
fn frames(window: f64) -> (u64, u64) {
    let size = (window * FRAMES).round_ties_even() as u64;
    (size, size / 6)
}

/// Writes overlapping pieces of transcripts (lines of a key and words), for a language model that may begin anywhere.
///
/// # Errors
/// A file cannot be read or written.
pub fn pieces_of_transcript(text: &str, to: &str) -> Result<()> {
    let text = plain_text::read(text)?;
    let mut pieces = Vec::new();
    for (_, line) in lines(&text) {
        let said = &fields(line)[1..];
        // The last piece but one may have the last word already.
        let ends = (said.len() + STEP).saturating_sub(PIECE).max(1);
        pieces.extend((0..ends).step_by(STEP).map(|at| said[at..said.len().min(at + PIECE)].join(" ")));
    }
    write(to, pieces.iter().map(String::as_str))
}

/// Writes windows of features as ranges, with keys `KEY@FIRST-FRAME`. The last window is not shorter than half a window unless
/// it is the only one. `window` is in seconds.
///
/// # Errors
/// A file is no table, or cannot be read or written.
pub fn windows(window: f64, feats: &str, lengths_file: &str, to: &str) -> Result<()> {
    let lengths = lengths(lengths_file)?;
    let (size, shared) = frames(window);
    let text = plain_text::read(feats)?;
    let mut found = Vec::new();
    for (line, content) in lines(&text) {
        let [key, place] = fields(content)[..] else {
            return Err(line_error(
                feats,
                line,
                format!("expected a key and a place in a file, found '{content}'"),
            ));
        };
        let Some(&frames) = lengths.get(key) else {
            return Err(line_error(feats, line, format!("there is no '{key}' in {lengths_file}")));
        };
        let mut first = 0;
        loop {
            let last = if frames < first + size + size / 2 { frames } else { first + size };
            if last > first {
                found.push(format!("{key}@{first} {place}[{first}:{}]", last - 1));
            }
            if last == frames {
                break;
            }
            first += size - shared;
        }
    }
    write(to, found.iter().map(String::as_str))
}

/// A word that was heard: begin and end in seconds of the recording.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Heard {
    pub begin: f64,
    pub end: f64,
    pub word: String,
}

/// The words that were heard in recordings, of a CTM whose keys are those of windows and whose words are numbers. Where windows
/// overlap, each counts up to the middle of what they share.
pub(super) fn heard(ctm: &str, words: &str, window: f64) -> Result<FxHashMap<String, Vec<Heard>>> {
    let words = known_words(words)?;
    let text = plain_text::read(ctm)?;
    let mut windows: FxHashMap<&str, BTreeMap<u64, Vec<Heard>>> = FxHashMap::default();
    for (line, content) in lines(&text) {
        let parsed = (|| {
            let [key, _, begin, length, number] = fields(content)[..] else { return None };
            let (recording, first) = key.rsplit_once('@')?;
            let (begin, length): (f64, f64) = (begin.parse().ok()?, length.parse().ok()?);
            Some((recording, digits(first)?, begin, length, words.get(&digits(number)?)?))
        })();
        let Some((recording, first, begin, length, word)) = parsed else {
            let problem =
                format!("expected a window, a channel, begin, length and a known word, found '{content}'");
            return Err(line_error(ctm, line, problem));
        };
        let begin = first as f64 / FRAMES + begin;
        let heard = Heard { begin, end: begin + length, word: word.clone() };
        windows.entry(recording).or_default().entry(first).or_default().push(heard);
    }
    let shared = frames(window).1 as f64 / FRAMES;
    let mut found = FxHashMap::default();
    for (recording, of) in windows {
        let border = |first: u64| first as f64 / FRAMES + shared / 2.0;
        let borders: Vec<f64> = of.keys().map(|&first| if first > 0 { border(first) } else { 0.0 }).collect();
        let mut all = Vec::new();
        for (place, heard) in of.into_values().enumerate() {
            let most = borders.get(place + 1).copied().unwrap_or(f64::INFINITY);
            let is_within = |word: &Heard| (borders[place]..most).contains(&((word.begin + word.end) / 2.0));
            all.extend(heard.into_iter().filter(is_within));
        }
        found.insert(recording.to_owned(), all);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_overlap_and_share_their_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let put = |name: &str, text: &str| std::fs::write(path(name), text).unwrap();
        put("feats", "r f.ark:5\nshort f.ark:9\n");
        put("lengths", "r 2600\nshort 40\n");
        windows(12.0, &path("feats"), &path("lengths"), &path("out")).unwrap();
        // 12 s with 2 s shared; the rest of 6 s is a window of its own.
        let out = std::fs::read_to_string(path("out")).unwrap();
        assert_eq!(out, "r@0 f.ark:5[0:1199]\nr@1000 f.ark:5[1000:2599]\nshort@0 f.ark:9[0:39]\n");
        put("words", "a 7\nb 8\n");
        put(
            "ctm",
            "r@1000 1 0.60 0.20 7\nr@1000 1 1.20 0.20 8\nr@1000 1 9.00 0.50 7\nr@0 1 10.60 0.20 7\nr@0 1 11.20 0.20 8\n",
        );
        let found = heard(&path("ctm"), &path("words"), 12.0).unwrap();
        let found: Vec<_> =
            found["r"].iter().map(|word| (word.word.as_str(), (word.begin * 100.0).round())).collect();
        assert_eq!(found, [("a", 1060.0), ("b", 1120.0), ("a", 1900.0)]);
        put("ctm", "r@0 1 10.60 0.20 9\n");
        let error = heard(&path("ctm"), &path("words"), 12.0).unwrap_err().to_string();
        assert!(error.contains("ctm, line 1: expected a window"), "{error}");
    }

    #[test]
    fn pieces_cover_the_transcript() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        for count in [1, 8, 11, 12, 13, 30] {
            let words: Vec<String> = (0..count).map(|number| format!("w{number}")).collect();
            std::fs::write(path("text"), format!("key {}\n", words.join(" "))).unwrap();
            pieces_of_transcript(&path("text"), &path("out")).unwrap();
            let out = std::fs::read_to_string(path("out")).unwrap();
            let pieces: Vec<Vec<&str>> = out.lines().map(|line| line.split(' ').collect()).collect();
            assert!(pieces.iter().all(|piece| piece.len() <= 12), "{out}");
            for pair in words.windows(2) {
                assert!(pieces.iter().any(|piece| piece.windows(2).any(|two| two == pair)), "{pair:?} {out}");
            }
            // (A program in Python that made them before made so many.)
            let made = |count: usize| (0..1.max(count as i64 - 8)).step_by(4).count();
            assert_eq!(pieces.len(), made(count), "{count}");
        }
    }
}
