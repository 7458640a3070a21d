//! The results of all jobs: the texts in their order, recordings without one, and a table.

use std::fs;
use std::path::Path;

use kaldi_io::text::count;
use kaldi_sound::SoundStream;
use rustc_hash::FxHashMap;

use super::folder::{Folder, write, write_rows};
use super::list::is_blank;
use super::names::stem_and_suffix;
use crate::{Error, Loss, Result};

/// Rows of the table that is shown.
const SHOWN: usize = 20;

/// The result of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A text, with the number of its words if it is plain text.
    Text(Option<usize>),
    /// No text, and the reason.
    Missing(String),
}

/// A row of the table of results.
#[derive(Debug, Clone)]
pub struct Results {
    /// The recording's name.
    pub name: String,
    /// Its file.
    pub path: String,
    /// Its result.
    pub outcome: Outcome,
}

impl Results {
    fn columns(&self) -> [String; 5] {
        let (result, words, reason) = match &self.outcome {
            Outcome::Text(words) => ("text", words.map_or(String::new(), |words| words.to_string()), ""),
            Outcome::Missing(reason) => ("no text", String::new(), reason.as_str()),
        };
        [self.name.clone(), result.to_owned(), words, self.path.clone(), reason.to_owned()]
    }

    /// The length of the recording by its header, in seconds, if it can be opened.
    fn seconds(&self) -> Option<f64> {
        SoundStream::open(&self.path).ok()?.seconds()
    }

    /// True if there is a text.
    pub fn has_text(&self) -> bool {
        matches!(self.outcome, Outcome::Text(_))
    }
}

impl Folder {
    /// Joins the texts in the order of the list into `text` (but subtitles, which begin anew), and writes `failed` (name and path
    /// of recordings without a text) and `results.tsv`. `batches` is the folder of batches, whose links logs name.
    ///
    /// # Errors
    /// A table or a text cannot be read, or a file cannot be written.
    pub fn collect(&self, batches: &Path) -> Result<Vec<Results>> {
        let joins = !["srt", "vtt"].contains(&self.suffix.as_str());
        let reasons = self.reasons(batches)?;
        let (mut results, mut all) = (Vec::new(), String::new());
        for (name, path) in self.names()? {
            let file = self.text(&name);
            let outcome = match fs::read(&file) {
                Ok(bytes) => {
                    let text =
                        String::from_utf8(bytes).map_err(|_| Error::form(&file, "this is not UTF-8"))?;
                    if joins {
                        all += &text;
                    }
                    // The first word of each line is the name.
                    let words = || {
                        let words = text.split(is_blank).filter(|word| !word.is_empty()).count();
                        words.saturating_sub(text.matches('\n').count())
                    };
                    Outcome::Text((self.suffix == "txt").then(words))
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    Outcome::Missing(match reasons.get(&name) {
                        _ if !Path::new(&path).exists() => "there is no such file".to_owned(),
                        Some(reason) => reason.clone(),
                        None => "see the logs".to_owned(),
                    })
                }
                Err(source) => return Err(Error::io(&file, source)),
            };
            results.push(Results { name, path, outcome });
        }
        let missing = results.iter().filter(|one| !one.has_text());
        write_rows(&self.file("failed"), missing.map(|one| vec![one.name.as_str(), &one.path]))?;
        let columns: Vec<[String; 5]> = results.iter().map(Results::columns).collect();
        let rows = columns.iter().map(|row| row.iter().map(String::as_str).collect());
        let header = vec!["name", "result", "words", "file", "reason"];
        write_rows(&self.file("results.tsv"), std::iter::once(header).chain(rows))?;
        if joins {
            write(&self.file("text"), &all)?;
        }
        Ok(results)
    }

    /// Returns the reasons of recordings without a text, by name, from the logs `log/try*.log` of this call; later ones count.
    fn reasons(&self, batches: &Path) -> Result<FxHashMap<String, String>> {
        let folder = self.file("log");
        let failed = |source| Error::io(&folder, source);
        let mut logs = Vec::new();
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            if name.starts_with(b"try") && name.ends_with(b".log") {
                let status = fs::metadata(&path).map_err(failed)?;
                logs.push((status.modified().map_err(failed)?, path));
            }
        }
        logs.sort();
        let links = format!("{}/", batches.display());
        let mut found = FxHashMap::default();
        for (_, log) in logs {
            let bytes = fs::read(&log).map_err(|source| Error::io(&log, source))?;
            let text = String::from_utf8_lossy(&bytes);
            let lines = text.split(['\n', '\r']);
            for line in lines.filter(|line| line.contains("WARNING") || line.contains("ERROR")) {
                let Some(place) = line.find(&links) else { continue };
                let (file, why) = line[place..].split_once(": ").unwrap_or((&line[place..], ""));
                let why = why.replace(&links, "").replace('\t', " ");
                let why = if why.is_empty() { "see the logs".to_owned() } else { why };
                found.insert(stem_and_suffix(file).0.to_owned(), why);
            }
        }
        Ok(found)
    }
}

/// A table of the first results for people; those without a text come first, and their number and length last.
pub fn table(results: &[Results]) -> String {
    let (there, missing): (Vec<_>, Vec<_>) = results.iter().partition(|one| one.has_text());
    let mut rows = vec![["recording", "result", "words", "file, or reason"].map(str::to_owned)];
    rows.extend(missing.iter().chain(&there).take(SHOWN).map(|one| {
        let [name, result, words, path, reason] = one.columns();
        [name, result, words, if reason.is_empty() { path } else { reason }]
    }));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let [name, result, words] = [0, 1, 2].map(width);
    let line = |row: &[String; 4]| {
        let line = format!("{:name$}  {:result$}  {:words$}  {}", row[0], row[1], row[2], row[3]);
        line.trim_end_matches(is_blank).to_owned() + "\n"
    };
    let mut text: String = rows.iter().map(line).collect();
    if results.len() > SHOWN {
        text += &format!("… and {} more\n", results.len() - SHOWN);
    }
    if !missing.is_empty() {
        let mut sound = Loss::default();
        missing.iter().for_each(|one| sound.add(one.seconds()));
        text += &format!("without a text: {} ({sound})\n", count(missing.len(), "recording"));
    }
    text
}
