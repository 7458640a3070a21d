//! Rules that name the speaker of a recording or an utterance.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use rustc_hash::FxHashMap;

use crate::{Error, Result, text};

/// The source of the speakers' names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SpeakerRule {
    /// The input says it: a tier, a column, `utt2spk`, which has to name all. Otherwise the sub-folder of a recording is the
    /// speaker. A recording without a sub-folder has its own speaker.
    #[default]
    Found,
    /// The folder of a recording; with a number, the folder at this level below the input, from 1.
    Folder(Option<usize>),
    /// Each recording has a speaker of its own.
    File,
    /// The first characters of the file's name.
    Prefix(usize),
    /// A part of the file's name, from 1, between `_`, `-`, `.` or blanks.
    Field(usize),
    /// All recordings have one speaker.
    One,
    /// A file with lines of a recording or utterance and its speaker.
    Table(PathBuf),
}

impl FromStr for SpeakerRule {
    type Err = String;

    fn from_str(value: &str) -> std::result::Result<Self, String> {
        let (name, number) =
            value.split_once(':').map_or((value, None), |(name, number)| (name, Some(number)));
        let number = match number.map(str::parse::<usize>) {
            Some(Ok(number)) if number > 0 => Some(number),
            Some(_) if matches!(name, "folder" | "prefix" | "field") => {
                return Err(format!("expected a number from 1 behind '{name}:'"));
            }
            _ => None,
        };
        Ok(match (name, number) {
            ("", _) => SpeakerRule::Found,
            ("folder", level) => SpeakerRule::Folder(level),
            ("prefix", Some(count)) => SpeakerRule::Prefix(count),
            ("field", Some(number)) => SpeakerRule::Field(number),
            ("prefix" | "field", None) => return Err(format!("expected a number, as in '{name}:2'")),
            _ if value == "file" => SpeakerRule::File,
            _ if value == "one" => SpeakerRule::One,
            _ => SpeakerRule::Table(value.into()),
        })
    }
}

/// The names that a rule can use.
pub(crate) struct Names<'n> {
    /// Folders below the input, and the name of the file without its ending.
    pub path: &'n [String],
    /// The key of the utterance in the input, if it has one.
    pub key: Option<&'n str>,
    /// The speaker that the input names.
    pub found: Option<&'n str>,
    /// The file in which the input names all speakers.
    pub file: Option<&'n Path>,
}

/// A speaker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Speaker {
    Named(String),
    /// A speaker of one recording only.
    Own,
}

/// A rule with the table that it needs.
pub(crate) struct Speakers<'r> {
    rule: &'r SpeakerRule,
    table: FxHashMap<String, String>,
}

/// Folders that are not named after their speaker.
const GENERIC: [&str; 13] = [
    "wav",
    "wavs",
    "audio",
    "sound",
    "sounds",
    "recording",
    "recordings",
    "clips",
    "data",
    "flac",
    "mp3",
    "files",
    "waves",
];

impl<'r> Speakers<'r> {
    pub fn new(rule: &'r SpeakerRule) -> Result<Speakers<'r>> {
        let table = match rule {
            SpeakerRule::Table(path) => table(path)?,
            _ => FxHashMap::default(),
        };
        Ok(Speakers { rule, table })
    }

    /// The speaker, or a clause that says why there is none.
    pub fn of(&self, names: &Names) -> std::result::Result<Speaker, String> {
        let (folders, file) = match names.path.split_last() {
            Some((file, folders)) => (folders, file.as_str()),
            None => (&[][..], ""),
        };
        let missing = |what: String| Err(format!("{what}, which would name the speaker"));
        match self.rule {
            SpeakerRule::Found => Ok(match (names.found, names.file) {
                (Some(name), _) => Speaker::Named(name.to_owned()),
                (None, Some(table)) => {
                    return Err(format!(
                        "{} has no line for '{}'",
                        table.display(),
                        names.key.unwrap_or(file)
                    ));
                }
                (None, None) => {
                    let generic = |name: &&String| GENERIC.contains(&name.to_lowercase().as_str());
                    let count = folders.len() - folders.iter().rev().take_while(generic).count();
                    match count {
                        0 => Speaker::Own,
                        count => Speaker::Named(folders[..count].join("_")),
                    }
                }
            }),
            SpeakerRule::Folder(None) if folders.is_empty() => {
                missing("the recording has no folder".to_owned())
            }
            SpeakerRule::Folder(None) => Ok(Speaker::Named(folders.join("_"))),
            SpeakerRule::Folder(Some(level)) => match folders.get(level - 1) {
                Some(name) => Ok(Speaker::Named(name.clone())),
                None => missing(format!("there is no folder at level {level}")),
            },
            SpeakerRule::File => Ok(Speaker::Own),
            SpeakerRule::One => Ok(Speaker::Named("speaker".to_owned())),
            SpeakerRule::Prefix(count) => {
                let name = names.key.unwrap_or(file);
                Ok(Speaker::Named(name.chars().take(*count).collect()))
            }
            SpeakerRule::Field(number) => {
                let name = names.key.unwrap_or(file);
                let mut parts = name.split(['_', '-', '.', ' ']).filter(|part| !part.is_empty());
                match parts.nth(number - 1) {
                    Some(part) => Ok(Speaker::Named(part.to_owned())),
                    None => missing(format!("the name '{name}' has no part {number}")),
                }
            }
            SpeakerRule::Table(path) => {
                let whole = names.path.join("/");
                let found =
                    names.key.into_iter().chain([whole.as_str(), file]).find_map(|name| self.table.get(name));
                match found {
                    Some(speaker) => Ok(Speaker::Named(speaker.clone())),
                    None => {
                        Err(format!("{} has no line for '{}'", path.display(), names.key.unwrap_or(&whole)))
                    }
                }
            }
        }
    }
}

/// `{recording or utterance: speaker}` of lines with a blank, tab, comma or semicolon between them.
fn table(path: &Path) -> Result<FxHashMap<String, String>> {
    let file = path.display().to_string();
    let content = text::read(path).map_err(|message| match path.exists() {
        true => Error::NotText { file: file.clone(), message },
        false => Error::Setting {
            setting: "speakers",
            value: file.clone(),
            message: "there is no such file; expected folder, folder:N, file, one, prefix:N, field:N or a file with speakers"
                .to_owned(),
        },
    })?;
    let mut table = FxHashMap::default();
    for (line, row) in text::lines(&content) {
        let separator = ['\t', ';', ','].into_iter().find(|&c| row.contains(c));
        let columns = match separator {
            Some(separator) => row.split_once(separator),
            None => row.split_once(char::is_whitespace),
        };
        let columns = columns.map(|(name, speaker)| (name.trim(), speaker.trim()));
        let Some((name, speaker)) = columns.filter(|(name, speaker)| !name.is_empty() && !speaker.is_empty())
        else {
            let message = format!("expected a recording and its speaker, found '{row}'");
            return Err(Error::Format { file, line, message });
        };
        let name = crate::path::without_sound_extension(name);
        if table.insert(name.to_owned(), speaker.to_owned()).is_some_and(|other| other != speaker) {
            return Err(Error::Format {
                file,
                line,
                message: format!("'{name}' has another speaker in a line before"),
            });
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rule: &str, path: &[&str], found: Option<&str>) -> std::result::Result<Speaker, String> {
        let rule = rule.parse().unwrap();
        let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
        Speakers::new(&rule).unwrap().of(&Names { path: &path, key: None, found, file: None })
    }

    fn named(name: &str) -> std::result::Result<Speaker, String> {
        Ok(Speaker::Named(name.to_owned()))
    }

    #[test]
    fn rules_name_speakers() {
        let path = ["train", "anna", "wav", "0_george_3"];
        assert_eq!(of("", &path, None), named("train_anna"));
        assert_eq!(of("", &path, Some("F4")), named("F4"));
        assert_eq!(of("", &["a"], None), Ok(Speaker::Own));
        assert_eq!(of("", &["wavs", "a"], None), Ok(Speaker::Own));
        assert_eq!(of("folder:2", &path, Some("F4")), named("anna"));
        assert_eq!(of("folder", &path, None), named("train_anna_wav"));
        assert_eq!(of("prefix:2", &path, None), named("0_"));
        assert_eq!(of("field:2", &path, None), named("george"));
        assert_eq!(of("one", &path, None), named("speaker"));
        assert_eq!(of("file", &path, None), Ok(Speaker::Own));
        assert!(of("field:4", &path, None).unwrap_err().contains("no part 4"));
        assert!(of("folder:4", &path, None).unwrap_err().contains("level 4"));
        for bad in ["prefix", "prefix:0", "field:x", "folder:"] {
            assert!(bad.parse::<SpeakerRule>().is_err(), "{bad}");
        }
    }

    #[test]
    fn tables_name_speakers_by_file_or_path() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("speakers.csv");
        std::fs::write(&file, "a.wav,Anna B\nx/b,Bert\n").unwrap();
        let rule = file.to_str().unwrap();
        assert_eq!(of(rule, &["x", "a"], None), named("Anna B"));
        assert_eq!(of(rule, &["x", "b"], None), named("Bert"));
        assert!(of(rule, &["y", "b"], None).unwrap_err().contains("no line for 'y/b'"));
        let rule = SpeakerRule::Table("/no/such".into());
        assert!(Speakers::new(&rule).err().unwrap().to_string().contains("expected folder, folder:N"));
    }
}
