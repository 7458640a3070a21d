//! One table with a line for each word and phone.

use std::fmt::Write;

use kaldi_corpus::Corpus;

use super::OfRecording;

pub(super) fn text(corpus: &Corpus, all: &[OfRecording]) -> String {
    let mut out = String::from("recording,speaker,utterance,type,label,begin,end,score\n");
    for of in all {
        let recording = quoted(&corpus.recordings[of.recording].id);
        for (number, utterance) in of.aligned() {
            let of_utterance = &corpus.utterances[number];
            let (id, speaker) = (quoted(&of_utterance.id), quoted(&of_utterance.speaker));
            let mut line = |kind: &str, label: &str, begin: f64, end: f64, score: Option<f64>| {
                let score = score.map_or(String::new(), |score| format!("{score:.3}"));
                let label = quoted(label);
                let _ =
                    writeln!(out, "{recording},{speaker},{id},{kind},{label},{begin:.3},{end:.3},{score}");
            };
            for word in &utterance.words {
                line("word", &word.text, word.begin, word.end, word.score);
                for phone in &word.phones {
                    line("phone", &phone.name, phone.begin, phone.end, phone.score);
                }
            }
        }
    }
    out
}

/// A cell: in quotes if it has commas or quotes.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}
