//! An object for each recording.

use kaldi_corpus::Corpus;
use serde_json::{Value, json};

use super::OfRecording;
use crate::aligned::{AlignedPhone, AlignedUtterance, AlignedWord};

pub(super) fn text(corpus: &Corpus, of: &OfRecording) -> String {
    format!("{:#}\n", object(corpus, of))
}

pub(super) fn object(corpus: &Corpus, of: &OfRecording) -> Value {
    let recording = &corpus.recordings[of.recording];
    let utterances: Vec<Value> = of
        .utterances
        .iter()
        .map(|(number, result)| {
            let utterance = &corpus.utterances[*number];
            let mut object =
                json!({ "id": utterance.id, "speaker": utterance.speaker, "text": utterance.text });
            let fields = match result {
                Ok(aligned) => of_aligned(aligned),
                Err(reason) => json!({ "not_aligned": reason }),
            };
            if let (Value::Object(object), Value::Object(fields)) = (&mut object, fields) {
                object.extend(fields);
            }
            object
        })
        .collect();
    json!({
        "recording": recording.id,
        "file": recording.source.to_string(),
        "seconds": microseconds(recording.seconds),
        "utterances": utterances,
    })
}

fn of_aligned(utterance: &AlignedUtterance) -> Value {
    json!({
        "begin": microseconds(utterance.begin),
        "end": microseconds(utterance.end),
        "log_likelihood": three_digits(utterance.log_likelihood),
        "words": utterance.words.iter().map(of_word).collect::<Vec<_>>(),
    })
}

fn of_word(word: &AlignedWord) -> Value {
    json!({
        "word": word.text,
        "begin": microseconds(word.begin),
        "end": microseconds(word.end),
        "unknown": word.is_unknown,
        "score": word.score.map(three_digits),
        "doubtful": word.is_doubtful,
        "phones": word.phones.iter().map(of_phone).collect::<Vec<_>>(),
    })
}

fn of_phone(phone: &AlignedPhone) -> Value {
    json!({
        "phone": phone.name,
        "begin": microseconds(phone.begin),
        "end": microseconds(phone.end),
        "score": phone.score.map(three_digits),
    })
}

/// Seconds, rounded to microseconds, so that sums of times have no long tails of digits.
fn microseconds(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}

fn three_digits(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_six_digits_at_most() {
        assert_eq!(json!(microseconds(6.207_125_000_000_000_4)).to_string(), "6.207125");
        assert_eq!(json!(microseconds(0.1 + 0.2)).to_string(), "0.3");
        assert_eq!(json!(microseconds(3_599.999_999_6)).to_string(), "3600.0");
    }
}
