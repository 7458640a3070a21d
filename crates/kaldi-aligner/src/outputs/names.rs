//! Names of files for recordings.

use std::path::Path;

use kaldi_corpus::{Corpus, Recording, Source};
use rustc_hash::{FxHashMap, FxHashSet};

/// Bytes of a name without its ending, and of a folder's name.
const LONGEST: usize = 200;
/// Endings of results, which no folder among them has.
const ENDINGS: [&str; 5] = [".textgrid", ".eaf", ".json", ".srt", ".vtt"];

/// The path of each recording below the folder of results, without the ending: that below the folder of the input. It never
/// leads out of the folder, and differs from the others even where capitals do not count. Recordings that differ in their endings
/// only have these, too.
pub fn file_names(corpus: &Corpus) -> Vec<String> {
    let paths: Vec<String> = corpus.recordings.iter().map(path).collect();
    let mut counts: FxHashMap<&str, usize> = FxHashMap::default();
    for path in &paths {
        *counts.entry(path).or_default() += 1;
    }
    let mut taken = FxHashSet::default();
    let unique = |(recording, path): (&Recording, &String)| {
        let name = match ending(recording).filter(|_| counts[path.as_str()] > 1) {
            Some(ending) => format!("{path}.{ending}"),
            None => path.clone(),
        };
        let mut unique = name.clone();
        let mut number = 2;
        while !taken.insert(unique.to_lowercase()) {
            unique = format!("{name}-{number}");
            number += 1;
        }
        unique
    };
    corpus.recordings.iter().zip(&paths).map(unique).collect()
}

/// The ending of a recording's file.
fn ending(recording: &Recording) -> Option<String> {
    match &recording.source {
        Source::File(file) => Some(part(Path::new(file).extension()?.to_str()?)),
        Source::Extended(_) => None,
    }
}

/// The path of a recording, with `/` between the parts.
fn path(recording: &Recording) -> String {
    let (name, folders) = match recording.path.split_last() {
        Some((name, folders)) => (part(name), folders),
        None => (part(&recording.id), &[][..]),
    };
    let folder = |folder: &String| {
        let folder = part(folder);
        let lower = folder.to_lowercase();
        // (A folder cannot have the name of a file.)
        if ENDINGS.iter().any(|ending| lower.ends_with(ending)) { folder + "_" } else { folder }
    };
    folders.iter().map(folder).chain([name]).collect::<Vec<_>>().join("/")
}

/// A name as one part of a path: no slash, no control character, no point at the beginning.
fn part(name: &str) -> String {
    let mut name: String = name.chars().map(|c| if c == '/' || c.is_control() { '_' } else { c }).collect();
    if name.is_empty() || name.starts_with('.') {
        name.insert(0, '_');
    }
    while name.len() > LONGEST {
        name.pop();
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(path: &[&str], file: &str) -> Recording {
        Recording {
            id: path.concat(),
            path: path.iter().map(|part| (*part).to_owned()).collect(),
            source: Source::File(file.into()),
            channel: Some(0),
            channels: 1,
            rate: 1,
            seconds: 1.0,
            promised_seconds: 1.0,
            is_wave: true,
            levels: None,
        }
    }

    fn names(recordings: Vec<Recording>) -> Vec<String> {
        file_names(&Corpus { recordings, ..Corpus::default() })
    }

    #[test]
    fn no_name_leads_out_of_the_folder() {
        let long = "é".repeat(300);
        let ids = ["../../x", "..", "a", "A", "a/b", "a_b", &long];
        let found = names(ids.map(|id| recording(&[id], "/x")).into());
        assert_eq!(found[..6], ["_.._.._x", "_..", "a", "A-2", "a_b", "a_b-2"]);
        assert_eq!(found[6].len(), 200);
        let hostile = names(vec![recording(&["..", "", "a/../..", ".x"], "/x"), recording(&[], "/y")]);
        assert_eq!(hostile, ["_../_/a_.._../_.x", "_"]);
    }

    #[test]
    fn results_lie_as_the_recordings_do_with_the_ending_where_it_tells_them_apart() {
        let found = names(vec![
            recording(&["conv one"], "/c/conv one.wav"),
            recording(&["anna b", "p"], "/c/anna b/p.wav"),
            recording(&["anna b", "q"], "/c/anna b/q.wav"),
            recording(&["anna b", "q"], "/c/anna b/q.flac"),
            recording(&["x.TextGrid", "p"], "/c/x.TextGrid/p.wav"),
            recording(&["x"], "/c/x.wav"),
        ]);
        let expected = ["conv one", "anna b/p", "anna b/q.wav", "anna b/q.flac", "x.TextGrid_/p", "x"];
        assert_eq!(found, expected);
    }
}
