//! Names of files for recordings.

use kaldi_corpus::Corpus;
use rustc_hash::FxHashSet;

/// Bytes of a name without its ending.
const LONGEST: usize = 200;

/// A name for each recording that is no path, and differs from the others even where capitals do not count.
pub fn file_names(corpus: &Corpus) -> Vec<String> {
    let mut taken = FxHashSet::default();
    let name = |id: &str| {
        let mut name: String = id.chars().map(|c| if c == '/' || c.is_control() { '_' } else { c }).collect();
        if name.is_empty() || name.starts_with('.') {
            name.insert(0, '_');
        }
        while name.len() > LONGEST {
            name.pop();
        }
        let mut unique = name.clone();
        let mut number = 2;
        while !taken.insert(unique.to_lowercase()) {
            unique = format!("{name}-{number}");
            number += 1;
        }
        unique
    };
    corpus.recordings.iter().map(|recording| recording.id.as_str()).map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_corpus::{Recording, Source};

    #[test]
    fn no_name_leads_out_of_the_folder() {
        let recording = |id: &str| Recording {
            id: id.to_owned(),
            source: Source::File("/x".into()),
            channel: Some(0),
            channels: 1,
            rate: 1,
            seconds: 1.0,
            is_wave: true,
            levels: None,
        };
        let long = "é".repeat(300);
        let ids = ["../../x", "..", "a", "A", "a/b", "a_b", &long];
        let corpus = Corpus { recordings: ids.map(recording).into(), ..Corpus::default() };
        let names = file_names(&corpus);
        assert_eq!(names[..6], ["_.._.._x", "_..", "a", "A-2", "a_b", "a_b-2"]);
        assert_eq!(names[6].len(), 200);
    }
}
