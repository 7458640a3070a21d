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
/// Names of recordings with warnings that are shown.
const NAMED: usize = 5;

/// The result of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A text.
    Text {
        /// The number of its words if it is plain text.
        words: Option<usize>,
        /// Warnings about the recording, such as sound that is missing; empty if there are none.
        warnings: String,
    },
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
            Outcome::Text { words, warnings } => {
                ("text", words.map_or(String::new(), |words| words.to_string()), warnings.as_str())
            }
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
        matches!(self.outcome, Outcome::Text { .. })
    }

    /// True if there is a text, and a warning about the recording.
    pub fn has_warnings(&self) -> bool {
        matches!(&self.outcome, Outcome::Text { warnings, .. } if !warnings.is_empty())
    }
}

impl Folder {
    /// Joins the texts in the order of the list into `text` (but subtitles and TextGrids, which begin anew), and writes `failed` (name and path
    /// of recordings without a text), `warnings` (name, path and warnings of recordings with a text) and `results.tsv`. `batches` is
    /// the folder of batches, whose links logs name. An empty file is no text, unless the form has such texts.
    ///
    /// # Errors
    /// A table or a text cannot be read, or a file cannot be written.
    pub fn collect(&self, batches: &Path) -> Result<Vec<Results>> {
        let joins = !self.is_of_one_file();
        let said = self.said(batches)?;
        let mut kept = self.warnings()?;
        let (mut results, mut all) = (Vec::new(), String::new());
        for (name, path) in self.names()? {
            let file = self.text(&name);
            let outcome = match fs::read(&file) {
                Ok(bytes) if !bytes.is_empty() || self.has_empty_texts() => {
                    let text =
                        String::from_utf8(bytes).map_err(|_| Error::form(&file, "this is not UTF-8"))?;
                    if joins {
                        let rest = text.split_once('\n').filter(|_| self.has_head() && !all.is_empty());
                        all += rest.map_or(text.as_str(), |(_, rest)| rest);
                    }
                    // The first word of each line is the name.
                    let words = || {
                        let words = text.split(is_blank).filter(|word| !word.is_empty()).count();
                        words.saturating_sub(text.matches('\n').count())
                    };
                    if let Some(said) = said.get(&name) {
                        kept.insert(name.clone(), (path.clone(), said.join("; ")));
                    }
                    let warnings = kept.get(&name).filter(|(before, _)| *before == path);
                    Outcome::Text {
                        words: (self.suffix == "txt").then(words),
                        warnings: warnings.map_or(String::new(), |(_, warnings)| warnings.clone()),
                    }
                }
                Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io(&file, source));
                }
                Ok(_) | Err(_) => Outcome::Missing(match said.get(&name).and_then(|said| said.last()) {
                    _ if !Path::new(&path).exists() => "there is no such file".to_owned(),
                    Some(reason) => reason.clone(),
                    None => "see the logs".to_owned(),
                }),
            };
            results.push(Results { name, path, outcome });
        }
        let missing = results.iter().filter(|one| !one.has_text());
        self.set_warnings(&kept)?;
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

    /// Returns the warnings and errors about recordings, by name, from the logs `log/try*.log` of this call. Each is there once,
    /// and the latest is the last.
    fn said(&self, batches: &Path) -> Result<FxHashMap<String, Vec<String>>> {
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
        let mut found: FxHashMap<String, Vec<String>> = FxHashMap::default();
        for (_, log) in logs {
            let bytes = fs::read(&log).map_err(|source| Error::io(&log, source))?;
            let text = String::from_utf8_lossy(&bytes);
            let lines = text.split(['\n', '\r']);
            for line in lines.filter(|line| line.contains("WARNING") || line.contains("ERROR")) {
                let Some(place) = line.find(&links) else { continue };
                let (file, why) = line[place..].split_once(": ").unwrap_or((&line[place..], ""));
                let why = why.replace(&links, "").replace('\t', " ");
                let why = if why.is_empty() { "see the logs".to_owned() } else { why };
                let all = found.entry(stem_and_suffix(file).0.to_owned()).or_default();
                all.retain(|before| *before != why);
                all.push(why);
            }
        }
        Ok(found)
    }
}

/// A table for people of the first recordings without a text, then of those with warnings; nothing if there are none. The last lines
/// have the number and the first names of recordings with warnings, and the number and length of those without a text.
pub fn table(results: &[Results]) -> String {
    let (there, missing): (Vec<_>, Vec<_>) = results.iter().partition(|one| one.has_text());
    let warned: Vec<_> = there.into_iter().filter(|one| one.has_warnings()).collect();
    let bad = missing.len() + warned.len();
    if bad == 0 {
        return String::new();
    }
    let mut rows = vec![["recording", "result", "words", "reason"].map(str::to_owned)];
    rows.extend(missing.iter().chain(&warned).take(SHOWN).map(|one| {
        let [name, result, words, _, reason] = one.columns();
        [name, result, words, reason]
    }));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let [name, result, words] = [0, 1, 2].map(width);
    let line = |row: &[String; 4]| {
        let line = format!("{:name$}  {:result$}  {:words$}  {}", row[0], row[1], row[2], row[3]);
        line.trim_end_matches(is_blank).to_owned() + "\n"
    };
    let mut text: String = rows.iter().map(line).collect();
    if bad > SHOWN {
        text += &format!("… and {} more\n", bad - SHOWN);
    }
    if !warned.is_empty() {
        let names: Vec<&str> = warned.iter().take(NAMED).map(|one| one.name.as_str()).collect();
        let others = warned.len() - names.len();
        let others = if others > 0 { format!(" and {others} more") } else { String::new() };
        let warned = count(warned.len(), "recording");
        text += &format!(
            "with warnings (column reason of results.tsv): {warned}: {}{others}\n",
            names.join(", ")
        );
    }
    if !missing.is_empty() {
        let mut sound = Loss::default();
        missing.iter().for_each(|one| sound.add(one.seconds()));
        text += &format!("without a text: {} ({sound})\n", count(missing.len(), "recording"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::many::Listed;

    /// A folder of texts in a temporary folder, with two recordings.
    struct Many {
        dir: tempfile::TempDir,
        folder: Folder,
    }

    impl Many {
        fn new(suffix: &str) -> Many {
            let dir = tempfile::tempdir().unwrap();
            for folder in ["out/texts", "out/log"] {
                fs::create_dir_all(dir.path().join(folder)).unwrap();
            }
            let many = Many { folder: Folder::new(dir.path().join("out"), suffix), dir };
            many.write("cut.wav", "x");
            many.write("good.wav", "y");
            many
        }

        fn path(&self, name: &str) -> String {
            self.dir.path().join(name).display().to_string()
        }

        fn write(&self, name: &str, text: &str) {
            fs::write(self.path(name), text).unwrap();
        }

        /// A call of `transcribe_many.sh` whose jobs write nothing. Returns the number of jobs, rows of name, result and reason,
        /// and the lines that are shown.
        fn call(&self) -> (usize, Vec<String>, Vec<String>) {
            let listed =
                ["cut.wav", "good.wav"].map(|name| Listed { name: String::new(), path: self.path(name) });
            self.folder.name(&listed).unwrap();
            let batches = self.dir.path().join("batches");
            let jobs = self.folder.batches(20, &batches).unwrap();
            let results = self.folder.collect(&batches).unwrap();
            let _none = fs::remove_dir_all(&batches);
            let rows = fs::read_to_string(self.path("out/results.tsv")).unwrap();
            let row = |row: &str| {
                let row: Vec<&str> = row.split('\t').collect();
                [row[0], row[1], row[4]].join("|")
            };
            (
                jobs,
                rows.lines().skip(1).map(row).collect(),
                table(&results).lines().map(str::to_owned).collect(),
            )
        }
    }

    #[test]
    fn warnings_about_recordings_with_a_text_stay_in_the_results() {
        let many = Many::new("txt");
        let warning =
            format!("WARNING (x) {}: Truncated file? (9.72 s are missing)\n", many.path("batches/1/cut.wav"));
        many.call();
        many.write("out/texts/cut.txt", "cut three\n");
        many.write("out/texts/good.txt", "good one\n");
        many.write("out/log/try1.1.log", &warning.repeat(2));
        for _call in 0..2 {
            let (jobs, rows, shown) = many.call();
            assert_eq!((jobs, rows[0].as_str()), (0, "cut|text|Truncated file? (9.72 s are missing)"));
            assert_eq!(rows[1], "good|text|");
            assert!(shown[1].ends_with("Truncated file? (9.72 s are missing)"), "{shown:?}");
            let last = "with warnings (column reason of results.tsv): 1 recording: cut";
            assert_eq!(shown.last().unwrap(), last);
            // A later call has no log of the recording, and still its warning.
            let _none = fs::remove_file(many.path("out/log/try1.1.log"));
        }
        // An emptied text is none. The recording is to be done again, without the old warning.
        many.write("out/texts/cut.txt", "");
        let (jobs, rows, _) = many.call();
        assert_eq!((jobs, rows[0].as_str(), rows[1].as_str()), (1, "cut|no text|see the logs", "good|text|"));
        assert_eq!(
            fs::read_to_string(many.path("out/failed")).unwrap(),
            format!("cut\t{}\n", many.path("cut.wav"))
        );
        many.write("out/texts/cut.txt", "cut three one\n");
        let (jobs, rows, shown) = many.call();
        assert_eq!((jobs, rows[0].as_str(), shown.len()), (0, "cut|text|", 0));
    }

    #[test]
    fn tables_are_joined_with_one_line_of_names() {
        let many = Many::new("csv");
        many.call();
        many.write("out/texts/cut.csv", "file,text\ncut,one\n");
        many.write("out/texts/good.csv", "file,text\ngood,two\ngood,three\n");
        many.call();
        let joined = fs::read_to_string(many.path("out/text")).unwrap();
        assert_eq!(joined, "file,text\ncut,one\ngood,two\ngood,three\n");
    }

    #[test]
    fn an_empty_file_is_a_text_of_forms_without_lines_for_silence() {
        for (form, jobs) in
            [("srt", 0), ("ctm", 0), ("rttm", 0), ("vtt", 1), ("json", 1), ("txt", 1), ("csv", 1)]
        {
            let many = Many::new(form);
            many.write(&format!("out/texts/cut.{form}"), "x\n");
            many.call();
            many.write(&format!("out/texts/cut.{form}"), "");
            many.write(&format!("out/texts/good.{form}"), "good\n");
            let (found, rows, _) = many.call();
            assert_eq!((found, rows[0].contains("no text")), (jobs, jobs == 1), "{form}");
        }
    }
}
