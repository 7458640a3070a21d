//! Fingerprints of jobs: a job that is started again goes on if its inputs are the same.

use std::hash::Hasher;
use std::path::Path;

use kaldi_corpus::{Corpus, Source};
use kaldi_io::KaldiWriter;
use kaldi_lang::lexicon::Lexicon;

use crate::outputs::TABLE;
use crate::{Error, Result};

/// The file of a results' folder that has the fingerprint.
pub const FILE: &str = "inputs";

/// A number that changes if recordings (their sizes and times of change), texts, speakers, the lexicon or one of `options`
/// change.
pub fn fingerprint(corpus: &Corpus, lexicon: &Lexicon, options: &[String]) -> String {
    let mut hash = rustc_hash::FxHasher::default();
    let mut text = |text: &str| {
        hash.write_usize(text.len());
        hash.write(text.as_bytes());
    };
    for recording in &corpus.recordings {
        text(&recording.id);
        text(&recording.source.to_string());
        if let Source::File(file) = &recording.source
            && let Ok(data) = file.metadata()
        {
            let changed =
                data.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
            text(&format!("{} {:?}", data.len(), changed));
        }
    }
    for utterance in &corpus.utterances {
        for part in [&utterance.id, &utterance.speaker, &utterance.text] {
            text(part);
        }
        text(&format!("{:?}", utterance.span));
    }
    for entry in &lexicon.entries {
        text(&entry.word);
        text(&format!("{:?} {:?} {:?}", entry.probability, entry.silence, entry.phones));
    }
    options.iter().for_each(|option| text(option));
    format!("{:016x}", hash.finish())
}

/// The state of a results' folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// There is no folder, an empty one, or one of a job that failed before any result.
    New,
    /// A job with the same inputs was begun, or has other outputs.
    Begun,
    /// It ended.
    Ended,
}

/// Files that a job writes before its first result. (People may have mended guessed pronunciations, so that these stay.)
const BEFORE_RESULTS: [&str; 4] = [FILE, "faults.tsv", "unknown_words.tsv", "g2p.model"];

/// True for a folder in which a job failed before any result: it has nothing but files that the next job writes again.
fn has_no_result(folder: &Path) -> Result<bool> {
    for entry in std::fs::read_dir(folder).map_err(|source| Error::io(folder, source))? {
        let entry = entry.map_err(|source| Error::io(folder, source))?;
        let is_file = entry.file_type().map_err(|source| Error::io(folder, source))?.is_file();
        let name = entry.file_name();
        if !is_file || !BEFORE_RESULTS.iter().any(|known| name == *known) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Looks at a folder. `inputs` is the job's fingerprint, and `outputs` names the files that it writes.
///
/// # Errors
/// The folder has results of other inputs, or other files.
pub fn look(folder: &Path, inputs: &str, outputs: &str) -> Result<State> {
    let has_files = match std::fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(source) => return Err(Error::io(folder, source)),
    };
    if !has_files {
        return Ok(State::New);
    }
    let noted = std::fs::read_to_string(folder.join(FILE));
    let is_same = noted.as_ref().is_ok_and(|text| text.lines().next() == Some(inputs));
    if !is_same && has_no_result(folder)? {
        return Ok(State::New);
    }
    let Ok(text) = noted else {
        return Err(Error::file(folder, "expected a new or empty folder, found one with other files"));
    };
    let mut noted = text.lines();
    if noted.next() != Some(inputs) {
        let message = "the folder has results of other inputs or options: give another one, or remove it";
        return Err(Error::file(folder, message));
    }
    let has_ended = noted.next() == Some(outputs) && folder.join(TABLE).is_file();
    Ok(if has_ended { State::Ended } else { State::Begun })
}

/// Notes a job in a folder, which is made if it is missing. The table of an earlier job goes, as it is the last file of a
/// job.
///
/// # Errors
/// The file cannot be written.
pub fn begin(folder: &Path, inputs: &str, outputs: &str) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|source| Error::io(folder, source))?;
    match std::fs::remove_file(folder.join(TABLE)) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            return Err(Error::io(folder, source));
        }
        _ => {}
    }
    let name = folder.join(FILE).display().to_string();
    let mut out = KaldiWriter::create(&name, false)?;
    out.write_bytes(format!("{inputs}\n{outputs}\n").as_bytes())?;
    Ok(out.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_goes_on_only_with_the_same_inputs() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        assert_eq!(look(&out, "a", "csv").unwrap(), State::New);
        begin(&out, "a", "csv").unwrap();
        assert_eq!(look(&out, "a", "csv").unwrap(), State::Begun);
        std::fs::write(out.join(TABLE), "").unwrap();
        assert_eq!(look(&out, "a", "csv").unwrap(), State::Ended);
        assert_eq!(look(&out, "a", "ctm").unwrap(), State::Begun);
        assert!(look(&out, "b", "csv").unwrap_err().to_string().contains("other inputs"));
        begin(&out, "a", "ctm").unwrap();
        assert_eq!(look(&out, "a", "ctm").unwrap(), State::Begun);
        assert!(look(folder.path(), "a", "csv").unwrap_err().to_string().contains("other files"));
    }

    #[test]
    fn a_folder_of_a_job_that_failed_before_any_result_is_taken_again() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        begin(&out, "a", "csv").unwrap();
        for name in ["faults.tsv", "unknown_words.tsv"] {
            std::fs::write(out.join(name), "").unwrap();
        }
        assert_eq!(look(&out, "a", "csv").unwrap(), State::Begun);
        assert_eq!(look(&out, "b", "csv").unwrap(), State::New);
        std::fs::remove_file(out.join(FILE)).unwrap();
        assert_eq!(look(&out, "b", "csv").unwrap(), State::New);
        // A model, a table of results or another file is kept.
        for name in ["model", "alignment.csv", "guessed_pronunciations.txt", "notes"] {
            begin(&out, "a", "csv").unwrap();
            std::fs::create_dir(out.join(name)).unwrap();
            assert!(look(&out, "b", "csv").unwrap_err().to_string().contains("other inputs"), "{name}");
            std::fs::remove_dir(out.join(name)).unwrap();
        }
    }
}
