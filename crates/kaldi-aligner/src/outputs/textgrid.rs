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
    let tiers = tiers(corpus, recording, utterances).into_iter().map(|(_, _, tier)| tier).collect();
    TextGrid { begin: 0.0, end, tiers }
}

const UNITS: [Unit; 2] = [Unit::Words, Unit::Phones];

/// The contents of a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Words,
    Phones,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::Words => "words",
            Unit::Phones => "phones",
        }
    }
}

/// The tiers of [`grid`] with their speakers. The phones of a speaker follow the words.
pub(super) fn tiers<'u>(
    corpus: &Corpus,
    recording: usize,
    utterances: impl Iterator<Item = (usize, &'u AlignedUtterance)>,
) -> Vec<(Option<String>, Unit, Tier)> {
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
        for (unit, intervals) in UNITS.into_iter().zip(parts) {
            let plain = unit.name();
            let name = if several { format!("{speaker} - {plain}") } else { plain.to_owned() };
            tiers.push((Some(speaker.to_owned()), unit, Tier::of_intervals(name, intervals, end)));
        }
    }
    if tiers.is_empty() {
        tiers.extend(UNITS.map(|unit| (None, unit, Tier::of_intervals(unit.name(), [], end))));
    }
    tiers
}
