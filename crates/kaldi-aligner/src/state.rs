//! Fingerprints of jobs: a job that is started again goes on if its inputs are the same.

use std::hash::Hasher;
use std::path::Path;

use kaldi_corpus::{Corpus, Source};
use kaldi_io::KaldiWriter;
use kaldi_lang::lexicon::Lexicon;

use crate::outputs::{self, TABLE};
use crate::settings::META;
use crate::{Error, Result};

/// The file of a results' folder that has the fingerprint.
pub const FILE: &str = "inputs";
/// The folder of the model in that of the results.
pub const MODEL: &str = "model";
/// The guessed pronunciations and the model that they come from.
pub const GUESSED: &str = "guessed_pronunciations.txt";
/// See [`GUESSED`].
pub const G2P: &str = "g2p.model";

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
const BEFORE_RESULTS: [&str; 4] = [FILE, "faults.tsv", "unknown_words.tsv", G2P];

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
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            return Err(Error::file(folder, "expected a folder for the results, found a file"));
        }
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
        let message = "the folder has results of other inputs or options: give another one; --overwrite=true \
                       replaces them";
        return Err(Error::file(folder, message));
    }
    let has_ended = noted.next() == Some(outputs) && folder.join(TABLE).is_file();
    Ok(if has_ended { State::Ended } else { State::Begun })
}

/// True for the first line of [`FILE`].
fn is_fingerprint(line: &str) -> bool {
    line.len() == 16 && line.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Removes what jobs have written into a folder; other files stay. A folder that is missing or empty stays as it is.
///
/// # Errors
/// The folder has no [`FILE`] of a job, or a file cannot be removed.
pub fn clear(folder: &Path) -> Result<()> {
    if !folder.join(FILE).exists() {
        // (An empty folder, or one of a job that failed early.)
        return look(folder, "", "").map(drop);
    }
    let noted = std::fs::read_to_string(folder.join(FILE)).unwrap_or_default();
    if !noted.lines().next().is_some_and(is_fingerprint) {
        let message = format!("the file {FILE} is not of an alignment: give another folder");
        return Err(Error::file(folder, message));
    }
    for name in
        outputs::TABLES.into_iter().chain(BEFORE_RESULTS).chain([GUESSED]).filter(|name| *name != FILE)
    {
        remove(&folder.join(name))?;
    }
    for (name, endings) in outputs::FOLDERS {
        remove_files(&folder.join(name), endings)?;
    }
    let model = folder.join(MODEL);
    if is_folder(&model) && model.join(META).is_file() {
        std::fs::remove_dir_all(&model).map_err(|source| Error::io(&model, source))?;
    }
    // (Last: if the removal is stopped, it can go on.)
    remove(&folder.join(FILE))
}

/// True for a folder that is no link.
fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|data| data.is_dir())
}

/// Removes a file that may be missing.
fn remove(file: &Path) -> Result<()> {
    match std::fs::remove_file(file) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => Err(Error::io(file, source)),
        _ => Ok(()),
    }
}

/// Removes the files with these endings below a folder, and the folders that are empty then.
fn remove_files(folder: &Path, endings: &[&str]) -> Result<()> {
    if !is_folder(folder) {
        return Ok(());
    }
    let mut is_empty = true;
    for entry in std::fs::read_dir(folder).map_err(|source| Error::io(folder, source))? {
        let path = entry.map_err(|source| Error::io(folder, source))?.path();
        let ending = path.extension().and_then(std::ffi::OsStr::to_str);
        if is_folder(&path) {
            remove_files(&path, endings)?;
            is_empty &= !path.exists();
        } else if ending.is_some_and(|ending| endings.contains(&ending)) {
            remove(&path)?;
        } else {
            is_empty = false;
        }
    }
    if is_empty {
        std::fs::remove_dir(folder).map_err(|source| Error::io(folder, source))?;
    }
    Ok(())
}

/// Notes a job in a folder, which is made if it is missing. The table of an earlier job goes, as it is the last file of a
/// job.
///
/// # Errors
/// The file cannot be written.
pub fn begin(folder: &Path, inputs: &str, outputs: &str) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| {
        let cause = kaldi_io::error::without_numbers(&error.to_string());
        Error::file(folder, format!("the folder of the results cannot be made: {cause}"))
    })?;
    remove(&folder.join(TABLE))?;
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
    fn only_what_jobs_write_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        clear(&out).unwrap();
        let write = |name: &str| {
            let file = out.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        };
        let written = [
            "alignment.csv",
            "left_out.tsv",
            "files.tsv",
            "untexted.tsv",
            "eaf/anna b/p.eaf",
            "textgrids/anna b/p.TextGrid",
            "subtitles/p.srt",
            "model/meta.json",
            "model/final.mdl",
            "g2p.model",
            "guessed_pronunciations.txt",
            "faults.tsv",
        ];
        let own = ["notes.txt", "textgrids/anna/p.doc", "json/p.TextGrid"];
        written.into_iter().chain(own).for_each(write);
        // Without the fingerprint of a job, nothing goes.
        assert!(clear(&out).unwrap_err().to_string().contains("other files"));
        std::fs::write(out.join(FILE), "my inputs\n").unwrap();
        assert!(clear(&out).unwrap_err().to_string().contains("not of an alignment"));
        assert!(out.join("model/meta.json").exists());
        begin(&out, "0123456789abcdef", "csv").unwrap();
        clear(&out).unwrap();
        assert!(written.iter().all(|name| !out.join(name).exists()) && !out.join(FILE).exists());
        assert!(own.iter().all(|name| out.join(name).exists()));
        let left = ["textgrids/anna b", "subtitles", "model"];
        assert!(left.iter().all(|name| !out.join(name).exists()));
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
