//! Remarks of `nnet3-align` about a corpus: what may be odd, and what an alignment may leave out.

use std::collections::BTreeSet;

use kaldi_aligner::{AnyModel, Pronunciations, Unknown, long};
use kaldi_corpus::Corpus;
use kaldi_io::text::{count, either};
use nnet3::messages;

/// Warns of unknown words whose phone the model was trained without.
pub fn warn_of_speech(
    model: Option<&AnyModel>,
    pronunciations: &Pronunciations,
    unknown: Unknown,
    corpus: &Corpus,
) {
    if let Some(AnyModel::Gaussian(model)) = model
        && let Some(sentence) = model.warning_of_speech(pronunciations, unknown, corpus)
    {
        messages::warn(&sentence);
    }
}

/// The share of unknown words from which on they spoil times.
const MANY_UNKNOWN: f64 = 0.05;

/// Warns of many words that are aligned as anything spoken, and of words that are aligned by some of their letters.
pub fn warn_of_unknown_words(pronunciations: &Pronunciations, unknown: Unknown, corpus: &Corpus) {
    let words = || corpus.utterances.iter().flat_map(|utterance| utterance.text.split_whitespace());
    let (all, any) = (words().count(), words().filter(|word| pronunciations.is_any_speech(word)).count());
    if unknown == Unknown::Spoken && any as f64 > MANY_UNKNOWN * all as f64 {
        let ways = match pronunciations.is_of_letters() {
            true => "--unknown-words=letters takes those of their letters that are phones",
            false => {
                "--unknown-words=g2p guesses their phones from the words of the lexicon, and letters takes letters as phones"
            }
        };
        messages::warn(&format!(
            "{any} of the {} of the texts ({:.0} %) are aligned as anything spoken, so that their times and those beside them are poor: \
             {ways}",
            count(all, "word"),
            100.0 * any as f64 / all as f64
        ));
    }
    if unknown != Unknown::Letters {
        return;
    }
    let shortened = pronunciations.shortened(corpus);
    if let Some((word, phones)) = shortened.first() {
        messages::warn(&format!(
            "{} {} aligned by some of the letters, as the others are no phones: '{word}' as {}{}",
            count(shortened.len(), "word"),
            either(shortened.len(), "is", "are"),
            phones.join(" "),
            if shortened.len() > 1 { ", for instance" } else { "" }
        ));
    }
}

/// Recordings of a lower rate that are named.
const RATES_NAMED: usize = 3;

/// Warns of recordings that have a lower rate than the model. (Those whose utterances are lost are told of elsewhere.)
pub fn warn_of_low_rates(corpus: &Corpus, rate: u32) {
    let used: BTreeSet<usize> = corpus.utterances.iter().map(|utterance| utterance.recording).collect();
    let used = || used.iter().map(|&number| &corpus.recordings[number]);
    let low: Vec<_> = used().filter(|recording| (1..rate).contains(&recording.rate)).collect();
    let Some(lowest) = low.iter().map(|recording| recording.rate).min() else { return };
    let named = low.iter().take(RATES_NAMED).map(|recording| recording.source.to_string());
    let named = named.collect::<Vec<_>>().join(", ");
    messages::warn(&format!(
        "{} of {} {} fewer samples per second than the model, from {lowest} instead of {rate}, and nothing above {} kHz: times may be \
         wrong by whole words ({named}{})",
        low.len(),
        count(used().count(), "recording"),
        either(low.len(), "has", "have"),
        f64::from(lowest) / 2000.0,
        if low.len() > RATES_NAMED { ", …" } else { "" }
    ));
}

/// Says that an alignment may leave words out.
pub fn tell_of_long_ones(corpus: &Corpus) {
    let long = long::long_ones(corpus).len();
    if long > 0 {
        messages::log(&format!(
            "{} {} longer than {} s with one text: an alignment cuts {}, and leaves out words that do not fit, unless \
             --all-words=true; --validate cannot tell which",
            count(long, "recording"),
            either(long, "is", "are"),
            long::LONGEST,
            either(long, "it", "them")
        ));
    }
}

/// Says what else may be odd: speakers with one utterance, rates.
pub fn validate(corpus: &Corpus) {
    let speakers = corpus.speakers();
    let single: Vec<&str> = speakers
        .iter()
        .filter(|(_, utterances)| utterances.len() == 1)
        .map(|(speaker, _)| *speaker)
        .collect();
    if !single.is_empty() {
        let first = single.iter().take(5).copied().collect::<Vec<_>>().join(", ");
        messages::warn(&format!(
            "{} of {} {} one utterance, such as {first}: is --speakers right?",
            single.len(),
            count(speakers.len(), "speaker"),
            either(single.len(), "has", "have")
        ));
    }
    for (rate, recordings) in corpus.rates() {
        let have = either(recordings, "has", "have");
        messages::log(&format!("{} {have} {rate} samples per second", count(recordings, "recording")));
    }
}
