//! Alignments in seconds.

use kaldi_align::{Alignment, Reason};
use kaldi_corpus::Corpus;
use kaldi_lang::Lang;

use crate::pronunciations::Pronunciations;
use crate::settings::FrameTimes;

/// A phone with its time in the recording, in seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct AlignedPhone {
    /// Without its place in the word.
    pub name: String,
    /// Its beginning, in seconds from the beginning of the recording.
    pub begin: f64,
    /// Its end, in seconds.
    pub end: f64,
    /// See [`AlignedWord::score`].
    pub score: Option<f64>,
}

/// A word with its time in the recording, in seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct AlignedWord {
    /// The word of the transcript.
    pub text: String,
    /// Its beginning, in seconds from the beginning of the recording.
    pub begin: f64,
    /// Its end, in seconds.
    pub end: f64,
    /// True if the word has no pronunciation of its own.
    pub is_unknown: bool,
    /// True if it is aligned as anything spoken, by the phone for that. Such words have no scores.
    pub is_any_speech: bool,
    /// Its phones, in their order.
    pub phones: Vec<AlignedPhone>,
    /// The mean over its frames of the log-likelihood by the aligned state, less that by the best state of all: 0 or
    /// negative, and very negative if something else was said.
    pub score: Option<f64>,
    /// True if the score is far below those of most words. (Few scores have no such limit.)
    pub is_doubtful: bool,
}

/// The alignment of an utterance.
#[derive(Debug, Clone, PartialEq)]
pub struct AlignedUtterance {
    /// Beginning and end of the utterance in the recording, in seconds.
    pub begin: f64,
    /// End of the utterance in the recording, in seconds.
    pub end: f64,
    /// Its words, in their order.
    pub words: Vec<AlignedWord>,
    /// Per frame.
    pub log_likelihood: f64,
    /// True if the first beam of the search was too narrow.
    pub retried: bool,
}

/// The results of a job, in the order of the corpus' utterances.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// The alignment, or the reason why there is none.
    pub utterances: Vec<Result<AlignedUtterance, String>>,
    /// The number of doubtful words; `None` if there are too few scores to tell.
    pub doubtful: Option<usize>,
    /// Words of long recordings that are not aligned.
    pub left_out: Vec<LeftOut>,
    /// Sound of long recordings that no word of their text belongs to.
    pub untexted: Vec<Untexted>,
}

/// Words of a long recording that are in none of its utterances, one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOut {
    /// The number of the recording.
    pub recording: usize,
    /// The place of the text.
    pub place: String,
    /// The end of the word before them, in seconds from the beginning of the recording.
    pub begin: f64,
    /// The beginning of the word behind them.
    pub end: f64,
    /// The words of the transcript.
    pub words: Vec<String>,
}

/// Sound of a long recording that is not silence, and in no word of its text: speech that the text lacks, or noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Untexted {
    /// The number of the recording.
    pub recording: usize,
    /// Its beginning, in seconds from the beginning of the recording.
    pub begin: f64,
    /// Its end.
    pub end: f64,
}

/// Hundred-thousandths of a second are exact enough, and short to write.
fn rounded(seconds: f64) -> f64 {
    (seconds * 1e5).round() / 1e5
}

/// Makes seconds of frames.
pub(crate) fn in_seconds(
    corpus: &Corpus,
    number: usize,
    alignment: &Alignment,
    lang: &Lang,
    pronunciations: &Pronunciations,
    times: FrameTimes,
) -> AlignedUtterance {
    let utterance = &corpus.utterances[number];
    let length = corpus.recordings[utterance.recording].seconds;
    let (begin, end) = utterance.span.unwrap_or((0.0, length));
    let frames = alignment.ids.len() as f64;
    // (The nearest frame: finer steps promise more than frames of 25 ms can keep.)
    let time = |frame: f64| {
        let frame = frame.round();
        let time = begin + times.offset + frame * times.seconds;
        match frame {
            // The first and the last frame reach to the ends.
            0.0 => begin,
            _ if frame == frames => end,
            _ => rounded(time).clamp(begin, end),
        }
    };
    let mut words: Vec<AlignedWord> = utterance
        .text
        .split(' ')
        .filter(|word| !word.is_empty())
        .zip(&alignment.words)
        .map(|(text, times)| AlignedWord {
            text: text.to_owned(),
            begin: time(times.fine.0),
            end: time(times.fine.1),
            is_unknown: !pronunciations.has(text),
            is_any_speech: pronunciations.is_any_speech(text),
            phones: Vec::new(),
            score: None,
            is_doubtful: false,
        })
        .collect();
    for phone in &alignment.phones {
        if let Some(word) = phone.word.and_then(|place| words.get_mut(place)) {
            word.phones.push(AlignedPhone {
                name: lang.base_phone(phone.phone).to_owned(),
                begin: time(phone.fine.0),
                end: time(phone.fine.1),
                score: None,
            });
        }
    }
    AlignedUtterance {
        begin,
        end,
        words,
        log_likelihood: alignment.log_likelihood,
        retried: alignment.retried,
    }
}

/// The sentence of a reason, with the words of the transcript.
pub(crate) fn sentence(reason: &Reason, corpus: &Corpus, number: usize, lang: &Lang) -> String {
    match reason {
        Reason::NoPronunciation { position, .. } => {
            let word = corpus.utterances[number].text.split(' ').nth(*position).unwrap_or_default();
            format!("the word '{word}' has no pronunciation")
        }
        Reason::TooShort { frames, needed } => format!(
            "the recording is too short for its text: {frames} frames, of which the pronunciations need at least {needed}"
        ),
        Reason::UnknownPhone { phone } => {
            format!("the model does not know the phone '{}' in its context", lang.base_phone(*phone))
        }
        Reason::NoPath { beam } => {
            format!("the text does not fit the sound: no path reaches its end, even with the beam {beam}")
        }
        other => other.to_string(),
    }
}
