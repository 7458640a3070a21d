//! The table with a line for each recording, and that of doubtful words.

use std::collections::BTreeSet;
use std::fmt::Write;

use kaldi_corpus::{Corpus, Fault, Kind};

use super::OfRecording;
use crate::aligned::{LeftOut, Untexted};

/// Names of the columns.
const COLUMNS: [&str; 14] = [
    "recording",
    "file",
    "seconds",
    "utterances",
    "aligned",
    "log-likelihood",
    "words",
    "unknown words",
    "longest pause",
    "words per second",
    "phones per second",
    "doubtful words",
    "not aligned",
    "remark",
];

/// A line for each recording, with tabs between columns, and for what was lost before. The rates are those of speech without pauses.
pub(super) fn files(corpus: &Corpus, all: &[OfRecording]) -> String {
    let mut out = COLUMNS.join("\t") + "\n";
    for of in all {
        let recording = &corpus.recordings[of.recording];
        let (mut aligned, mut words, mut unknown, mut phones, mut doubtful) = (0, 0, 0, 0, 0);
        let (mut likelihood, mut length, mut spoken, mut pause) = (0.0, 0.0, 0.0, 0.0_f64);
        for (_, utterance) in of.aligned() {
            aligned += 1;
            let seconds = utterance.end - utterance.begin;
            likelihood += utterance.log_likelihood * seconds;
            length += seconds;
            let mut last: Option<f64> = None;
            for word in &utterance.words {
                words += 1;
                unknown += usize::from(word.is_unknown);
                doubtful += usize::from(word.is_doubtful);
                phones += word.phones.len();
                spoken += word.end - word.begin;
                pause = pause.max(last.map_or(0.0, |last| word.begin - last));
                last = Some(word.end);
            }
        }
        let ratio = |a: f64, b: f64| if b > 0.0 { format!("{:.3}", a / b) } else { String::new() };
        let reasons: Vec<&str> = of
            .utterances
            .iter()
            .filter_map(|(_, result)| result.as_ref().err())
            .map(String::as_str)
            .collect();
        let plain = |text: &str| text.replace(['\t', '\n', '\r'], " ");
        let places: BTreeSet<&str> =
            of.utterances.iter().map(|(number, _)| corpus.utterances[*number].place.as_str()).collect();
        let is_remark = |fault: &&Fault| {
            matches!(fault.kind, Kind::TextDoesNotFit | Kind::WordsLeftOut)
                && places.contains(fault.place.as_str())
        };
        let remarks: Vec<&str> =
            corpus.faults.iter().filter(is_remark).map(|fault| fault.sentence.as_str()).collect();
        let _ = writeln!(
            out,
            "{}\t{}\t{:.3}\t{}\t{aligned}\t{}\t{words}\t{unknown}\t{pause:.3}\t{}\t{}\t{doubtful}\t{}\t{}",
            recording.id,
            plain(&recording.source.to_string()),
            recording.seconds,
            of.utterances.len(),
            ratio(likelihood, length),
            ratio(words as f64, spoken),
            ratio(phones as f64, spoken),
            plain(&reasons.join("; ")),
            plain(&remarks.join("; ")),
        );
    }
    out + &lost(corpus)
}

/// A line for each loss before the alignment, such as a recording without a text: the file and the place in it, and the reason.
fn lost(corpus: &Corpus) -> String {
    let plain = |text: &str| text.replace(['\t', '\n', '\r'], " ");
    let line = |fault: &Fault| {
        let (place, seconds, count) = (plain(&fault.place), fault.lost.seconds, fault.lost.utterances);
        format!("\t{place}\t{seconds:.3}\t{count}\t0{}{}\t\n", "\t".repeat(8), plain(&fault.sentence))
    };
    corpus.faults.iter().filter(|fault| fault.lost.utterances > 0).map(line).collect()
}

/// Words of long recordings that are not aligned, with the time between the words before and behind them.
pub(super) fn left_out(corpus: &Corpus, all: &[LeftOut]) -> String {
    let mut out = "recording\tbegin\tend\twords\n".to_owned();
    for LeftOut { recording, begin, end, words, .. } in all {
        let recording = &corpus.recordings[*recording].id;
        let _ = writeln!(out, "{recording}\t{begin:.3}\t{end:.3}\t{}", words.join(" "));
    }
    out
}

/// Sound of long recordings that no word belongs to, with its length.
pub(super) fn untexted(corpus: &Corpus, all: &[Untexted]) -> String {
    let mut out = "recording\tbegin\tend\tseconds\n".to_owned();
    for Untexted { recording, begin, end } in all {
        let recording = &corpus.recordings[*recording].id;
        let _ = writeln!(out, "{recording}\t{begin:.3}\t{end:.3}\t{:.3}", end - begin);
    }
    out
}

/// Words whose score is low, the lowest first.
pub(super) fn doubtful(corpus: &Corpus, all: &[OfRecording]) -> String {
    let mut rows: Vec<(f64, String)> = Vec::new();
    for of in all {
        let recording = &corpus.recordings[of.recording].id;
        for (number, utterance) in of.aligned() {
            for word in utterance.words.iter().filter(|word| word.is_doubtful) {
                let score = word.score.unwrap_or(0.0);
                let id = &corpus.utterances[number].id;
                let (begin, end, text) = (word.begin, word.end, &word.text);
                rows.push((score, format!("{recording}\t{id}\t{begin:.3}\t{end:.3}\t{text}\t{score:.3}\n")));
            }
        }
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
    let head = "recording\tutterance\tbegin\tend\tword\tscore\n".to_owned();
    rows.into_iter().fold(head, |out, (_, row)| out + &row)
}
