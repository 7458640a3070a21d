//! Remarks of `nnet3-align` about a corpus: what may be odd, and what an alignment may leave out.

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

/// Minutes of speech below which a trained model gives poor times.
const LITTLE_SPEECH: f64 = 20.0;

/// Warns of a corpus that is too small to train on.
pub fn warn_of_little_speech(corpus: &Corpus, has_model: bool) {
    let minutes = corpus.kept().seconds / 60.0;
    if !has_model && minutes < LITTLE_SPEECH {
        messages::warn(&format!(
            "{minutes:.1} minutes of speech train a poor model: from {LITTLE_SPEECH} minutes on times are good, and --model takes \
             one of other recordings"
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
