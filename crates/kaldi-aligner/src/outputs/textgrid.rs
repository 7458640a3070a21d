//! TextGrids: tiers of words and phones, a pair for each speaker.

use std::collections::BTreeMap;

use kaldi_corpus::Corpus;
pub use kaldi_corpus::textgrid::Form;
use kaldi_corpus::textgrid::{Interval, TextGrid, Tier};

use crate::aligned::AlignedUtterance;

/// The TextGrid of a recording: tiers `words` and `phones`, or `SPEAKER - words` and so on if there are several speakers.
/// Intervals touch each other, from 0 to the end of the sound as Praat shows it; pauses are empty.
pub fn grid<'u>(
    corpus: &Corpus,
    recording: usize,
    utterances: impl Iterator<Item = (usize, &'u AlignedUtterance)>,
) -> TextGrid {
    let end = corpus.recordings[recording].shown_seconds();
    let mut speakers: BTreeMap<&str, [Vec<Interval>; 2]> = BTreeMap::new();
    let interval = |begin, end, text: &str| Interval { begin, end, text: text.to_owned() };
    for (number, utterance) in utterances {
        let [words, phones] = speakers.entry(&corpus.utterances[number].speaker).or_default();
        for word in &utterance.words {
            words.push(interval(word.begin, word.end, &word.text));
            phones.extend(word.phones.iter().map(|phone| interval(phone.begin, phone.end, &phone.name)));
        }
    }
    let several = speakers.len() > 1;
    let mut tiers = Vec::new();
    for (speaker, parts) in speakers {
        for (unit, intervals) in ["words", "phones"].into_iter().zip(parts) {
            let name = if several { format!("{speaker} - {unit}") } else { unit.to_owned() };
            tiers.push(Tier::of_intervals(name, intervals, end));
        }
    }
    if tiers.is_empty() {
        tiers.extend(["words", "phones"].map(|unit| Tier::of_intervals(unit, [], end)));
    }
    TextGrid { begin: 0.0, end, tiers }
}
