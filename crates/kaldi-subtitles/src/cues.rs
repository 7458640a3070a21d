//! Subtitles: cues that are short enough to read.
//!
//! A cue has at most two lines of [`LINE`] characters and takes at most [`LONGEST`] seconds. A short one stays for [`SHORTEST`]
//! seconds, or until the next one of its channel. Speech is split at pauses.
//! Without a pause, it is split into halves of about the same length. A word longer than a line is broken. A cue has the words
//! of one speaker, and room for a label.
//!
//! The page of `nnet3-serve` cuts live sound by the same rules (`page/subtitles.js`); `dev/test-serve-page.py` compares both.

use std::collections::BTreeMap;

/// Characters of a line, at most.
const LINE: usize = 42;
/// Seconds that a cue is shown, at most, unless a single word takes longer.
const LONGEST: f64 = 7.0;
/// Seconds that a cue is shown, at least, unless the next one comes before.
const SHORTEST: f64 = 1.0;
/// Seconds without a word that end a cue.
const PAUSE: f64 = 0.5;
/// Seconds without a word after which a long cue is split rather than in its middle.
const SHORT_PAUSE: f64 = 0.2;

/// A word with its times.
#[derive(Debug, Clone, PartialEq)]
pub struct Word {
    /// Its letters.
    pub text: String,
    /// Its begin, in seconds.
    pub start: f64,
    /// Its end, in seconds.
    pub end: f64,
}

/// Words of one speaker in a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The words, in the order of time.
    pub words: Vec<Word>,
    /// Cues of other channels may be shown at the same time.
    pub channel: usize,
    /// The name of the speaker or channel; `None` if texts have no names.
    pub label: Option<String>,
}

/// Text that is shown for a while.
#[derive(Debug, Clone, PartialEq)]
pub struct Cue {
    /// Its begin, in seconds.
    pub start: f64,
    /// Its end, in seconds.
    pub end: f64,
    /// One or two lines.
    pub lines: Vec<String>,
    /// The name of the speaker or channel; `None` if texts have no names.
    pub label: Option<String>,
}

/// Makes subtitle cues from turns, in the order of time. Each cue begins after the end of the cue before it in its
/// channel.
pub fn cues(turns: impl IntoIterator<Item = Turn>) -> Vec<Cue> {
    let mut channels: BTreeMap<usize, Vec<Cue>> = BTreeMap::new();
    for turn in turns {
        let pieces: Vec<Word> = turn.words.iter().flat_map(broken).collect();
        for spoken in pieces.chunk_by(|a, b| b.start - a.end < PAUSE) {
            add(spoken, turn.label.as_deref(), channels.entry(turn.channel).or_default());
        }
    }
    let mut all = Vec::new();
    for mut cues in channels.into_values() {
        for i in 1..cues.len() {
            cues[i].start = cues[i].start.max(cues[i - 1].end);
            cues[i].end = cues[i].end.max(cues[i].start);
        }
        for i in 0..cues.len() {
            let next = cues.get(i + 1).map_or(f64::INFINITY, |next| next.start);
            cues[i].end = cues[i].end.max((cues[i].start + SHORTEST).min(next));
        }
        all.append(&mut cues);
    }
    all.sort_by(|a, b| a.start.total_cmp(&b.start));
    all
}

/// Adds the words as one cue if they fit into one, or else both halves of them.
fn add(words: &[Word], label: Option<&str>, cues: &mut Vec<Cue>) {
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return };
    // (A colon and a blank follow the label.)
    let room = LINE.saturating_sub(label.map_or(0, |label| label.chars().count() + 2));
    match lines(words, room) {
        Some(lines) if last.end - first.start <= LONGEST || words.len() == 1 => {
            let label = label.map(str::to_owned);
            cues.push(Cue { start: first.start, end: last.end, lines, label });
        }
        // (A word of a whole line has no room for a label.)
        _ if words.len() == 1 => {
            let (lines, label) = (vec![first.text.clone()], label.map(str::to_owned));
            cues.push(Cue { start: first.start, end: last.end, lines, label });
        }
        _ => {
            let (before, after) = words.split_at(best_split(words));
            add(before, label, cues);
            add(after, label, cues);
        }
    }
}

/// The place of the longest pause; without pauses, the place nearest to the middle of the text. There are two words or more.
fn best_split(words: &[Word]) -> usize {
    let whole = width(words);
    let worth = |at: usize| {
        let pause = words[at].start - words[at - 1].end;
        let pause = if pause < SHORT_PAUSE { 0.0 } else { pause };
        (pause, -(width(&words[..at]).abs_diff(whole - width(&words[..at])) as f64))
    };
    let better =
        |a: &usize, b: &usize| worth(*a).partial_cmp(&worth(*b)).unwrap_or(std::cmp::Ordering::Equal);
    (1..words.len()).max_by(better).unwrap_or(1)
}

/// Characters of words with a blank between them.
fn width(words: &[Word]) -> usize {
    words.iter().map(|word| word.text.chars().count() + 1).sum::<usize>().saturating_sub(1)
}

/// One line if the words fit into it, or two of lengths as alike as possible; `None` if they do not fit. The first one has room
/// for `room` characters.
fn lines(words: &[Word], room: usize) -> Option<Vec<String>> {
    let text = |words: &[Word]| words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    if width(words) <= room {
        return Some(vec![text(words)]);
    }
    let widths = |at: usize| [width(&words[..at]), width(&words[at..])];
    let fits = |at: &usize| widths(*at)[0] <= room && widths(*at)[1] <= LINE;
    let at = (1..words.len()).filter(fits).min_by_key(|&at| widths(at)[0].abs_diff(widths(at)[1]))?;
    Some(vec![text(&words[..at]), text(&words[at..])])
}

/// A word in pieces of at most a line, each with its share of the time.
fn broken(word: &Word) -> Vec<Word> {
    let characters: Vec<char> = word.text.chars().collect();
    if characters.len() <= LINE {
        return vec![word.clone()];
    }
    let time = |at: usize| word.start + (word.end - word.start) * at as f64 / characters.len() as f64;
    let piece = |(i, piece): (usize, &[char])| Word {
        text: piece.iter().collect(),
        start: time(i * LINE),
        end: time(i * LINE + piece.len()),
    };
    characters.chunks(LINE).enumerate().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of a tenth of a second for each letter, one after the other; a number is a pause in tenths.
    fn said(text: &str) -> Turn {
        let mut time = 0.0;
        let mut words = Vec::new();
        for text in text.split(' ') {
            if let Ok(pause) = text.parse::<f64>() {
                time += pause / 10.0;
                continue;
            }
            let end = time + text.chars().count() as f64 / 10.0;
            words.push(Word { text: text.to_owned(), start: time, end });
            time = end;
        }
        Turn { words, channel: 1, label: None }
    }

    fn shown(text: &str) -> Vec<Vec<String>> {
        cues([said(text)]).into_iter().map(|cue| cue.lines).collect()
    }

    #[test]
    fn pauses_end_cues_and_long_lines_are_folded() {
        assert_eq!(shown("one two 6 three"), [["one two"], ["three"]]);
        assert_eq!(shown("one two 4 three"), [["one two three"]]);
        // 29 + 1 + 29 characters do not fit into a line.
        let twice = format!("{0} {0}", "abcdefghi abcdefghi abcdefghi");
        assert_eq!(shown(&twice), [["abcdefghi abcdefghi abcdefghi", "abcdefghi abcdefghi abcdefghi"]]);
        // Eleven words of nine letters are too many for two lines: they are split at a short pause, or else in the middle.
        let eleven = ["abcdefghi"; 11].join(" ");
        assert_eq!(
            shown(&eleven).iter().map(|lines| lines.concat().matches('a').count()).collect::<Vec<_>>(),
            [6, 5]
        );
        let with_pause = format!("abcdefghi abcdefghi abcdefghi 3 {}", ["abcdefghi"; 7].join(" "));
        assert_eq!(shown(&with_pause)[0], ["abcdefghi abcdefghi abcdefghi"]);
    }

    #[test]
    fn a_short_cue_stays_for_a_second_or_until_the_next_one() {
        let times = |text: &str| -> Vec<(i64, i64)> {
            let tenths = |time: f64| (time * 10.0).round() as i64;
            cues([said(text)]).iter().map(|cue| (tenths(cue.start), tenths(cue.end))).collect()
        };
        // A word of 0.2 s with room behind it, one with less room, a long one, and the last one.
        assert_eq!(times("ab 9 cd 6 abcdefghijkl 6 na"), [(0, 10), (11, 19), (19, 31), (37, 47)]);
        // Cues of two channels do not shorten each other.
        let mut other = said("ab");
        other.channel = 2;
        let both = cues([said("ab"), other]);
        assert!(both.iter().all(|cue| cue.end - cue.start == 1.0), "{both:?}");
    }

    #[test]
    fn no_cue_is_too_long() {
        let mut draw = fastrand::Rng::with_seed(3);
        for _ in 0..200 {
            let words: Vec<String> = (0..draw.usize(1..60)).map(|_| "ü".repeat(draw.usize(1..100))).collect();
            let mut turn = said(&words.join(" "));
            turn.words.iter_mut().for_each(|word| word.end += draw.f64() * 0.3);
            let cues = cues([turn]);
            let text: String =
                cues.iter().flat_map(|cue| &cue.lines).flat_map(|line| line.split(' ')).collect();
            assert_eq!(text, words.concat());
            for cue in &cues {
                assert!((1..=2).contains(&cue.lines.len()), "{cue:?}");
                assert!(cue.lines.iter().all(|line| line.chars().count() <= LINE), "{cue:?}");
                assert!(cue.end >= cue.start && cue.end - cue.start <= LONGEST.max(10.3), "{cue:?}");
            }
            assert!(cues.is_sorted_by(|a, b| a.end <= b.start));
        }
    }
}
