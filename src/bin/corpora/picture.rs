//! The utterance that a picture shows.

use std::path::Path;

use kaldi_corpus::{Corpus, Recording, Source};

/// Utterances that are named in a message.
const SHOWN: usize = 3;

/// The id of the utterance of this name: its own, or that of a recording that has no other one. The error is a clause with
/// examples of ids.
pub fn wanted<'c>(corpus: &'c Corpus, name: &str) -> Result<&'c str, String> {
    let ids = || corpus.utterances.iter().map(|utterance| utterance.id.as_str());
    if let Some(id) = ids().find(|id| *id == name) {
        return Ok(id);
    }
    let is_of = |recording: &Recording| is_name_of(recording, name);
    let found = corpus.utterances.iter().filter(|utterance| is_of(&corpus.recordings[utterance.recording]));
    let found: Vec<&str> = found.map(|utterance| utterance.id.as_str()).collect();
    match found.as_slice() {
        &[only] => Ok(only),
        [] => Err(format!(
            "the corpus has no utterance and no recording of this name; utterances are called {}",
            listed(&ids().collect::<Vec<_>>())
        )),
        several => Err(format!(
            "recordings of this name have {} utterances: give one of {}",
            several.len(),
            listed(several)
        )),
    }
}

/// The first ids, with commas between them.
fn listed(ids: &[&str]) -> String {
    let more = if ids.len() > SHOWN { ", …" } else { "" };
    ids.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ") + more
}

/// True for the key of a recording, and for its name or a path of it, with or without the ending.
fn is_name_of(recording: &Recording, name: &str) -> bool {
    if recording.id == name || recording.path.last().is_some_and(|last| last == name) {
        return true;
    }
    let Source::File(file) = &recording.source else { return false };
    let given = Path::new(name);
    // (Paths are compared by whole parts.)
    file.ends_with(given) || file.with_extension("").ends_with(given)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_corpus::Utterance;

    fn corpus() -> Corpus {
        let mut corpus = Corpus::default();
        for (place, file) in
            ["/c/anna/1.wav", "/c/bert/1.wav", "/c/bert/two words.wav"].into_iter().enumerate()
        {
            let file = Path::new(file);
            let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
            let folder = if place == 0 { "anna" } else { "bert" };
            corpus.recordings.push(Recording {
                id: format!("{folder}-{}", name.replace(' ', "_")),
                path: vec![folder.to_owned(), name],
                source: Source::File(file.into()),
                channel: Some(0),
                channels: 1,
                rate: 8000,
                seconds: 1.0,
                promised_seconds: 1.0,
                is_wave: true,
                levels: None,
            });
        }
        for (id, recording) in [("u1", 0), ("u2", 1), ("u3", 1), ("u4", 2)] {
            corpus.utterances.push(Utterance {
                id: id.to_owned(),
                recording,
                span: None,
                speaker: "s".to_owned(),
                text: "a".to_owned(),
                place: id.to_owned(),
            });
        }
        corpus
    }

    #[test]
    fn a_recording_with_one_utterance_stands_for_it() {
        let corpus = corpus();
        for name in
            ["two words", "two words.wav", "bert/two words", "/c/bert/two words.wav", "bert-two_words", "u4"]
        {
            assert_eq!(wanted(&corpus, name), Ok("u4"), "{name}");
        }
        assert_eq!(wanted(&corpus, "anna/1"), Ok("u1"));
    }

    #[test]
    fn other_names_are_answered_with_examples() {
        let corpus = corpus();
        let of_bert = wanted(&corpus, "bert/1").unwrap_err();
        assert!(of_bert.ends_with("2 utterances: give one of u2, u3"), "{of_bert}");
        assert!(wanted(&corpus, "1").unwrap_err().contains("3 utterances: give one of u1, u2, u3"));
        let none = wanted(&corpus, "ert/1").unwrap_err();
        assert!(none.contains("no utterance and no recording") && none.ends_with("u1, u2, u3, …"), "{none}");
    }
}
