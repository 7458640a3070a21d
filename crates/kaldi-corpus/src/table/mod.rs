//! One table of recordings and texts: `.csv`, `.tsv`, LJSpeech's `metadata.csv`, Common Voice's tables, manifests in JSON.

mod columns;
mod rows;

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use crate::assembly::{Draft, Drafts, Sound};
use crate::corpus::Source;
use crate::fault::{Fault, Kind};
use crate::listed::read_text;
use crate::{Error, Result, path, text};

use columns::Columns;

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Row {
    pub line: usize,
    pub path: String,
    pub text: String,
    pub speaker: Option<String>,
    /// Beginning and end in seconds, as they stand there.
    pub begin: Option<String>,
    pub end: Option<String>,
    pub duration: Option<String>,
}

/// True if a file has a header, or a separator, that a table of recordings has.
pub(crate) fn is_one(file: &Path) -> bool {
    let Ok(content) = text::read(file) else { return false };
    parse(&content, &file.display().to_string(), &mut Vec::new()).is_ok_and(|rows| !rows.is_empty())
}

/// Reads the rows of a table from the bytes of a file; for tests of damaged files.
#[doc(hidden)]
pub fn read_bytes(bytes: &[u8]) -> usize {
    let Ok(content) = text::decode(bytes) else { return 0 };
    parse(&content, "input", &mut Vec::new()).map_or(0, |rows| rows.len())
}

/// The rows. A row that cannot be used is a fault. Fails if columns of recordings and texts cannot be told.
fn parse(content: &str, place: &str, faults: &mut Vec<Fault>) -> Result<Vec<Row>> {
    if content.trim_start().starts_with('{') {
        return Ok(rows::of_json(content, place, faults));
    }
    let separated = rows::separated(content);
    let Some((_, first)) = separated.first() else {
        return Err(Error::form(Path::new(place), "the file is empty"));
    };
    let columns = Columns::find(&separated);
    let columns = columns.map_err(|message| Error::Format { file: place.to_owned(), line: 1, message })?;
    let unused = columns.unused(first);
    faults.extend(unused.map(|sentence| Fault::warning(Kind::IgnoredColumns, place, sentence)));
    let body = separated.iter().skip(usize::from(columns.has_header));
    Ok(body
        .filter_map(|(line, cells)| match columns.row(*line, cells) {
            Ok(row) => Some(row),
            Err(sentence) => {
                faults.push(Fault::loss(Kind::BadRow, format!("{place}, line {line}"), sentence, 0.0));
                None
            }
        })
        .collect())
}

/// Folders beside a table in which recordings are looked for.
const FOLDERS: [&str; 9] = ["", "wavs", "clips", "wav", "audio", "sound", "recordings", "flac", "data"];

/// Finds the recordings of a table.
struct Finder<'t> {
    beside: &'t Path,
    /// Files below the table's folder by name without ending; made when it is first needed.
    all: Option<FxHashMap<String, Vec<PathBuf>>>,
    /// Names that were found by their last part alone: how many, and the first with its file.
    elsewhere: Option<(usize, String, PathBuf)>,
}

impl Finder<'_> {
    /// A file, or a clause that says why there is none.
    fn find(&mut self, name: &str) -> std::result::Result<PathBuf, String> {
        let given = Path::new(name.strip_prefix("file://").unwrap_or(name));
        for folder in FOLDERS {
            let place = self.beside.join(folder).join(given);
            if place.is_file() {
                return Ok(place);
            }
            if !path::is_sound(given) {
                let mut endings = path::SOUND_EXTENSIONS.iter().map(|ending| {
                    let mut name = place.as_os_str().to_owned();
                    name.push(format!(".{ending}"));
                    PathBuf::from(name)
                });
                if let Some(found) = endings.find(|place| place.is_file()) {
                    return Ok(found);
                }
            }
        }
        // The table may come from another machine.
        let stem = given.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let stem = path::without_sound_extension(&stem);
        let all = self.all.get_or_insert_with(|| index(self.beside));
        match all.get(stem).map(Vec::as_slice) {
            Some([only]) => {
                match &mut self.elsewhere {
                    // (A name without folders says nothing about its place.)
                    _ if given.components().count() < 2 => {}
                    Some((count, ..)) => *count += 1,
                    none => *none = Some((1, name.to_owned(), only.clone())),
                }
                Ok(only.clone())
            }
            Some(several) => {
                let places =
                    several.iter().take(2).map(|file| file.strip_prefix(self.beside).unwrap_or(file));
                let places: Vec<String> = places.map(|file| file.display().to_string()).collect();
                Err(format!(
                    "there are {} recordings of the name '{stem}', such as {}: give the folder with the name",
                    several.len(),
                    places.join(" and ")
                ))
            }
            None => Err(format!("there is no recording '{name}' beside the table")),
        }
    }
}

fn index(folder: &Path) -> FxHashMap<String, Vec<PathBuf>> {
    let mut all: FxHashMap<String, Vec<PathBuf>> = FxHashMap::default();
    // (A folder that cannot be read has no recordings for this table.)
    for file in path::files(folder).unwrap_or_default().into_iter().filter(|file| path::is_sound(file)) {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        all.entry(stem).or_default().push(file);
    }
    all
}

pub(crate) fn read(file: &Path) -> Result<Drafts> {
    let file = &path::absolute(file);
    let content = read_text(file)?;
    let place = file.display().to_string();
    let mut drafts = Drafts::default();
    let mut faults = Vec::new();
    let rows = parse(&content, &place, &mut faults)?;
    faults.into_iter().for_each(|fault| drafts.fault(fault));
    let beside = file.parent().unwrap_or(Path::new("/"));
    let mut finder = Finder { beside, all: None, elsewhere: None };
    let mut numbers: FxHashMap<PathBuf, usize> = FxHashMap::default();
    for row in rows {
        let place = format!("{place}, line {}", row.line);
        let found = match finder.find(&row.path) {
            Ok(found) => found,
            Err(sentence) => {
                drafts.fault(Fault::loss(Kind::TextWithoutSound, place, sentence, 0.0));
                continue;
            }
        };
        let span = match row.span() {
            Ok(span) => span,
            Err(sentence) => {
                drafts.fault(Fault::loss(Kind::BadSpan, place, sentence, 0.0));
                continue;
            }
        };
        let sound = *numbers.entry(found.clone()).or_insert_with(|| {
            drafts.sounds.push(Sound {
                path: path::parts(beside, &found),
                source: Source::File(found),
                key: None,
                is_excused: false,
            });
            drafts.sounds.len() - 1
        });
        let text = text::single_blanks(&row.text);
        drafts.drafts.push(Draft { sound, key: None, span, speaker: row.speaker, text, place });
    }
    if let Some((count, name, file)) = finder.elsewhere {
        let file = file.strip_prefix(beside).unwrap_or(&file).display();
        let sentence = format!(
            "{} not where the table says, and found by the name alone: '{name}' is {file}",
            match count {
                1 => "1 recording is".to_owned(),
                _ => format!("{count} recordings are"),
            }
        );
        drafts.fault(Fault::warning(Kind::FoundElsewhere, &place, sentence));
    }
    Ok(drafts)
}

impl Row {
    /// Times in seconds, if the row has them.
    fn span(&self) -> std::result::Result<Option<(f64, f64)>, String> {
        let number = |name: &str, value: &Option<String>| match value.as_deref().map(str::trim) {
            None | Some("") => Ok(None),
            Some(text) => match text.replace(',', ".").parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(Some(number)),
                _ => Err(format!("expected a {name} in seconds, found '{text}'")),
            },
        };
        let (begin, end) = (number("beginning", &self.begin)?, number("end", &self.end)?);
        let length = number("duration", &self.duration)?;
        match (begin, end, length) {
            (begin, Some(end), _) => Ok(Some((begin.unwrap_or(0.0), end))),
            (Some(begin), None, Some(length)) => Ok(Some((begin, begin + length))),
            (Some(begin), None, None) if begin > 0.0 => {
                Err(format!("it begins at {begin} s, but has no end"))
            }
            _ => Ok(None),
        }
    }
}
