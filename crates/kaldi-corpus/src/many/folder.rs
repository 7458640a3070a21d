//! The folder of texts, and its tables of recordings.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use kaldi_io::KaldiWriter;
use rustc_hash::FxHashMap;

use super::list::Listed;
use super::names::give_names;
use crate::{Error, Result};

/// A folder of texts.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
    /// The ending of texts, without a dot.
    pub(super) suffix: String,
}

/// Size and time of change (ns) of a file, as texts; `None` if it is not there.
type Stamp = Option<(String, String)>;

fn stamp(path: impl AsRef<Path>) -> Stamp {
    let status = fs::metadata(path).ok()?;
    Some((status.len().to_string(), nanoseconds(&status).to_string()))
}

fn nanoseconds(status: &fs::Metadata) -> i128 {
    i128::from(status.mtime()) * 1_000_000_000 + i128::from(status.mtime_nsec())
}

/// Recordings with a text, in the order in which they came.
#[derive(Default)]
struct Known {
    rows: Vec<(String, String, Stamp)>,
    places: FxHashMap<String, usize>,
}

impl Known {
    fn get(&self, name: &str) -> Option<&(String, String, Stamp)> {
        self.places.get(name).map(|&place| &self.rows[place])
    }

    fn set(&mut self, name: &str, path: &str, stamp: Stamp) {
        let row = (name.to_owned(), path.to_owned(), stamp);
        match self.places.get(name) {
            Some(&place) => self.rows[place] = row,
            None => {
                self.places.insert(name.to_owned(), self.rows.len());
                self.rows.push(row);
            }
        }
    }
}

impl Folder {
    /// The folder at `path`, whose texts have this ending.
    pub fn new(path: impl Into<PathBuf>, suffix: &str) -> Folder {
        Folder { path: path.into(), suffix: suffix.to_owned() }
    }

    /// A file of the folder.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The file of a recording's text.
    pub(super) fn text(&self, name: &str) -> PathBuf {
        self.path.join("texts").join(format!("{name}.{}", self.suffix))
    }

    /// True if an empty file is a text of this form: that of a recording without words.
    pub(super) fn has_empty_texts(&self) -> bool {
        ["srt", "ctm", "rttm"].contains(&self.suffix.as_str())
    }

    /// True of forms with a file for each recording.
    pub(super) fn is_of_one_file(&self) -> bool {
        ["srt", "vtt", "TextGrid"].contains(&self.suffix.as_str())
    }

    /// True of forms whose first line names columns.
    pub(super) fn has_head(&self) -> bool {
        ["csv", "tsv"].contains(&self.suffix.as_str())
    }

    /// True if a recording has a text.
    pub(super) fn has_text(&self, name: &str) -> bool {
        fs::metadata(self.text(name)).is_ok_and(|status| status.len() > 0 || self.has_empty_texts())
    }

    /// Paths and warnings of recordings that were recognised, by name.
    pub(super) fn warnings(&self) -> Result<BTreeMap<String, (String, String)>> {
        let file = self.file("warnings");
        let row = |row: Vec<&str>| match row[..] {
            [name, path, warnings] => Ok((name.to_owned(), (path.to_owned(), warnings.to_owned()))),
            _ => Err(Error::form(&file, "expected lines of a name, a path and warnings")),
        };
        rows(&read(&file)?).map(row).collect()
    }

    /// Keeps the warnings for later calls, whose logs do not have them.
    pub(super) fn set_warnings(&self, warnings: &BTreeMap<String, (String, String)>) -> Result<()> {
        let row = |(name, (path, warnings)): (&'_ String, &'_ (String, String))| {
            [name.clone(), path.clone(), warnings.clone()]
        };
        let all: Vec<[String; 3]> = warnings.iter().map(row).collect();
        write_rows(&self.file("warnings"), all.iter().map(|row| row.iter().map(String::as_str).collect()))
    }

    /// Names and paths of the recordings of the last list.
    ///
    /// # Errors
    /// The table cannot be read.
    pub fn names(&self) -> Result<Vec<(String, String)>> {
        let file = self.file("names");
        let row = |row: Vec<&str>| match row[..] {
            [name, path] => Ok((name.to_owned(), path.to_owned())),
            _ => Err(Error::form(&file, "expected lines of a name and a path")),
        };
        rows(&read(&file)?).map(row).collect()
    }

    /// Names the recordings of a list, and removes texts of other recordings or of recordings that have changed since. Returns the
    /// number of texts that were removed.
    ///
    /// # Errors
    /// A table cannot be read or written, or a text cannot be removed.
    pub fn name(&self, listed: &[Listed]) -> Result<usize> {
        let mut known = self.known()?;
        let names =
            give_names(listed, known.rows.iter().map(|(name, path, _)| (name.as_str(), path.as_str())));
        let mut again = 0;
        for (name, Listed { path, .. }) in names.iter().zip(listed) {
            let now = stamp(path);
            let is_same = known
                .get(name)
                .is_some_and(|(_, before, then)| before == path && (now.is_none() || *then == now));
            if is_same {
                continue; // A recording that is gone keeps its text.
            }
            let text = self.text(name);
            if text.symlink_metadata().is_ok() {
                fs::remove_file(&text).map_err(|source| Error::io(&text, source))?;
                again += 1;
            }
            known.set(name, path, now);
        }
        let all = known.rows.iter().map(|(name, path, stamp)| {
            let (size, time) = stamp.as_ref().map_or(("", ""), |(size, time)| (size, time));
            vec![name.as_str(), path, size, time]
        });
        write_rows(&self.file("recordings"), all)?;
        write_rows(
            &self.file("names"),
            names.iter().zip(listed).map(|(name, one)| vec![name.as_str(), &one.path]),
        )?;
        Ok(again)
    }

    fn known(&self) -> Result<Known> {
        let mut known = Known::default();
        let file = self.file("recordings");
        for row in rows(&read(&file)?) {
            let [name, path, size, time] = row[..] else {
                return Err(Error::form(&file, "expected lines of a name, a path, a size and a time"));
            };
            let is_known = !(size.is_empty() && time.is_empty());
            known.set(name, path, is_known.then(|| (size.to_owned(), time.to_owned())));
        }
        // Texts of a folder that an earlier version made are newer than their recordings.
        for row in rows(&read(&self.file("names"))?) {
            let [name, path] = row[..] else { continue };
            let Ok(text) = fs::metadata(self.text(name)) else { continue };
            if known.get(name).is_none()
                && let Ok(sound) = fs::metadata(path)
                && nanoseconds(&sound) < nanoseconds(&text)
            {
                known.set(name, path, stamp(path));
            }
        }
        Ok(known)
    }
}

/// The text of a table; nothing if there is no such file.
fn read(file: &Path) -> Result<String> {
    match fs::read(file) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| Error::form(file, "this is not UTF-8")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(source) => Err(Error::io(file, source)),
    }
}

/// Rows of columns with tabs between them.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.split('\n').filter(|line| !line.is_empty()).map(|line| line.split('\t').collect())
}

/// Writes rows of columns; the file appears whole.
pub(super) fn write_rows<'r>(file: &Path, rows: impl Iterator<Item = Vec<&'r str>>) -> Result<()> {
    write(file, &rows.map(|row| row.join("\t") + "\n").collect::<String>())
}

/// Writes a text; the file appears whole.
pub(super) fn write(file: &Path, text: &str) -> Result<()> {
    kaldi_io::filename::as_path(|| {
        let mut out = KaldiWriter::create(&file.to_string_lossy(), false)?;
        out.write_str(text)?;
        Ok(out.finish()?)
    })
}
