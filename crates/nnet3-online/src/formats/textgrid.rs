//! TextGrids for Praat.

use std::collections::BTreeMap;

use kaldi_corpus::textgrid::{Form, Interval, TextGrid, Tier};

use super::turns::turns;
use super::{Parts, Recognized};
use crate::transcript::text;

/// A time to the microsecond.
fn rounded(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}

/// Tiers `sentences` and `words`, or `Speaker 1 - sentences` and so on if texts have speakers or channels. Intervals touch each
/// other from 0 to the end of the sound.
pub(super) fn write(parts: Parts, recording: &Recognized) -> String {
    let mut tiers: BTreeMap<(usize, Option<usize>), [Vec<Interval>; 2]> = BTreeMap::new();
    let interval =
        |begin, end, text: &str| Interval { begin: rounded(begin), end: rounded(end), text: text.to_owned() };
    let mut end = rounded(recording.seconds);
    for turn in turns(parts, recording.segments) {
        let key = (if parts.speakers { 0 } else { turn.channel }, turn.speaker);
        let [sentences, words] = tiers.entry(key).or_default();
        sentences.push(interval(turn.begin(), turn.end(), &text(turn.words)));
        words.extend(turn.words.iter().map(|word| interval(word.start, word.end, &word.text)));
        end = end.max(rounded(turn.end()));
    }
    if tiers.is_empty() {
        tiers.insert((1, None), Default::default());
    }
    let mut all = Vec::new();
    for ((channel, speaker), intervals) in tiers {
        let label = parts.label(channel, speaker).map_or(String::new(), |label| format!("{label} - "));
        for (unit, intervals) in ["sentences", "words"].into_iter().zip(intervals) {
            all.push(Tier::of_intervals(format!("{label}{unit}"), intervals, end));
        }
    }
    TextGrid { begin: 0.0, end, tiers: all }.to_text(Form::Long)
}
