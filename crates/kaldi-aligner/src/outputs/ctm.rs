//! CTM: lines of recording, channel, beginning, duration and word or phone.

use std::fmt::Write;
use std::path::Path;

use kaldi_corpus::Corpus;

use super::{OfRecording, write_file};
use crate::Result;

/// The files.
pub(super) const NAMES: [&str; 2] = ["words.ctm", "phones.ctm"];

/// Writes `words.ctm` and `phones.ctm`.
pub(super) fn write(folder: &Path, corpus: &Corpus, all: &[OfRecording]) -> Result<()> {
    let (mut words, mut phones) = (String::new(), String::new());
    for of in all {
        let id = &corpus.recordings[of.recording].id;
        let line = |out: &mut String, begin: f64, end: f64, text: &str| {
            let _ = writeln!(out, "{id} 1 {begin:.3} {:.3} {text}", end - begin);
        };
        for word in of.aligned().flat_map(|(_, utterance)| &utterance.words) {
            line(&mut words, word.begin, word.end, &word.text);
            for phone in &word.phones {
                line(&mut phones, phone.begin, phone.end, &phone.name);
            }
        }
    }
    write_file(&folder.join(NAMES[0]), &words)?;
    write_file(&folder.join(NAMES[1]), &phones)
}
