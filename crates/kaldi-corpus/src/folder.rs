//! A tree of folders: files with texts beside files with sound.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::assembly::{Draft, Drafts, Hints, Sound};
use crate::corpus::Source;
use crate::eaf::Media;
use crate::fault::{Fault, Kind};
use crate::input::Options;
use crate::sidecar::{self, Sidecar};
use crate::{Error, Result, listed, path, table, text};

/// Files that are about a corpus, not of it.
const ABOUT: [&str; 12] = [
    "readme",
    "license",
    "licence",
    "copying",
    "changes",
    "changelog",
    "authors",
    "notes",
    "info",
    "speakers",
    "version",
    "disclaimer",
];

/// Sounds of a tree, by folder and name.
struct Tree {
    drafts: Drafts,
    files: Vec<PathBuf>,
    by_place: FxHashMap<PathBuf, usize>,
    /// Names without endings; several files may have one.
    by_stem: FxHashMap<String, Vec<usize>>,
    /// A recording of each name in lower case.
    by_lower: FxHashMap<String, usize>,
}

/// A file with a text: its place without the ending.
struct TextFile {
    file: PathBuf,
    base: PathBuf,
    /// The place of its ending in the list of endings.
    rank: usize,
}

pub(crate) fn read(root: &Path, options: &Options) -> Result<Drafts> {
    let root = &path::absolute(root);
    let files = path::files(root)?;
    let mut tree = Tree::of(root, &files);
    if tree.files.is_empty() {
        let hint = tables(root, &files).first().map_or_else(String::new, |table| {
            format!("; it has a table, which may name recordings elsewhere: give {} itself", table.display())
        });
        let message = format!(
            "expected recordings, found no file with the ending of a sound (.wav, .flac, .mp3, …){hint}"
        );
        return Err(Error::form(root, message));
    }
    tree.look_around(&files, &options.extensions());
    let texts = text_files(&files, &options.extensions());
    let (mut matched, orphans): (Vec<_>, Vec<_>) = texts
        .into_iter()
        .map(|text| (tree.sound_of(&text.base), text))
        .partition(|(sound, _)| sound.is_some());
    if matched.is_empty()
        && let Some(table) = only_table(root, &files)?
    {
        return table::read(&table);
    }
    // The preferred ending first, so that it counts.
    matched.sort_by(|(_, a), (_, b)| a.rank.cmp(&b.rank).then_with(|| a.file.cmp(&b.file)));
    let folders: FxHashSet<PathBuf> =
        matched.iter().filter_map(|(_, text)| Some(text.file.parent()?.to_owned())).collect();
    let mut taken: BTreeMap<usize, PathBuf> = BTreeMap::new();
    for (sound, text) in matched {
        if let Some(sound) = sound {
            tree.take(sound, &text.file, &mut taken, options);
        }
    }
    let sound_folders: FxHashSet<&Path> = tree.files.iter().filter_map(|file| file.parent()).collect();
    let mut lonely = Vec::new();
    for (_, text) in orphans {
        let folder = text.file.parent().unwrap_or(root);
        lonely.push((sound_folders.contains(folder) || folders.contains(folder), text));
    }
    drop(sound_folders);
    for (is_beside, text) in lonely {
        tree.orphan(&text, is_beside, &mut taken, options);
    }
    Ok(tree.drafts)
}

/// Files with one of the endings. The longest ending that fits counts; capitals do not.
fn text_files(files: &[PathBuf], extensions: &[&str]) -> Vec<TextFile> {
    let endings: Vec<String> =
        extensions.iter().map(|extension| format!(".{}", extension.to_lowercase())).collect();
    let of = |file: &PathBuf| {
        let name = file.file_name()?.to_str()?;
        let lower = name.to_lowercase();
        let fits = endings.iter().enumerate().filter(|(_, ending)| lower.ends_with(*ending));
        let (rank, ending) = fits.max_by_key(|(_, ending)| ending.len())?;
        // (Lower case may have another length.)
        let stem = name.get(..name.len().checked_sub(ending.len())?).filter(|stem| !stem.is_empty())?;
        Some(TextFile { file: file.clone(), base: file.with_file_name(stem), rank })
    };
    files.iter().filter_map(of).collect()
}

/// Tables of recordings right in the folder.
fn tables<'f>(root: &Path, files: &'f [PathBuf]) -> Vec<&'f PathBuf> {
    let is_table = |file: &&PathBuf| {
        let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or("");
        ["csv", "tsv", "jsonl"].contains(&extension.to_lowercase().as_str()) && file.parent() == Some(root)
    };
    files.iter().filter(is_table).filter(|file| table::is_one(file)).collect()
}

/// The table of a folder without texts beside the sound, if there is one.
fn only_table(root: &Path, files: &[PathBuf]) -> Result<Option<PathBuf>> {
    match tables(root, files).as_slice() {
        [] => Ok(None),
        [table] => Ok(Some((*table).clone())),
        several => {
            let names: Vec<String> = several
                .iter()
                .map(|file| file.file_name().unwrap_or_default().to_string_lossy().into_owned())
                .collect();
            let message = format!(
                "expected one table, found {}: give one of them in place of the folder",
                names.join(", ")
            );
            Err(Error::form(root, message))
        }
    }
}

impl Tree {
    fn of(root: &Path, files: &[PathBuf]) -> Tree {
        let mut tree = Tree {
            drafts: Drafts::default(),
            files: Vec::new(),
            by_place: FxHashMap::default(),
            by_stem: FxHashMap::default(),
            by_lower: FxHashMap::default(),
        };
        for file in files.iter().filter(|file| path::is_sound(file)) {
            let base = file.with_extension("");
            if let Some(&other) = tree.by_place.get(&base) {
                let sentence =
                    format!("{} has the same name, and is used in its place", tree.files[other].display());
                tree.drafts.fault(Fault::warning(Kind::Duplicate, file.display().to_string(), sentence));
                continue;
            }
            let number = tree.files.len();
            tree.by_place.insert(base.clone(), number);
            let stem = base.file_name().unwrap_or_default().to_string_lossy().into_owned();
            tree.by_lower.entry(stem.to_lowercase()).or_insert(number);
            tree.by_stem.entry(stem).or_default().push(number);
            tree.files.push(file.clone());
            tree.drafts.sounds.push(Sound {
                source: Source::File(file.clone()),
                path: path::parts(root, file),
                key: None,
                is_excused: false,
            });
        }
        tree
    }

    /// Notes the endings that are looked for, and other files that have the name of a recording.
    fn look_around(&mut self, files: &[PathBuf], extensions: &[&str]) {
        let lower: Vec<String> = extensions.iter().map(|ending| ending.to_lowercase()).collect();
        let dotted: Vec<String> = extensions.iter().map(|ending| format!(".{ending}")).collect();
        let looked_for = either_of(&dotted);
        let mut beside: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for file in files.iter().filter(|file| !path::is_sound(file)) {
            let Some(name) = file.file_name().and_then(|name| name.to_str()) else { continue };
            // (The longest name of a recording counts.)
            let cuts = name.rmatch_indices('.').map(|(at, _)| (&name[..at], &name[at + 1..]));
            let found = cuts
                .filter(|(stem, ending)| !stem.is_empty() && !ending.is_empty())
                .find_map(|(stem, ending)| Some((self.sound_of(&file.with_file_name(stem))?, ending)));
            if let Some((sound, ending)) = found.filter(|(_, ending)| !lower.contains(&ending.to_lowercase()))
            {
                beside.entry(sound).or_default().push(ending.to_owned());
            }
        }
        let clause = |mut endings: Vec<String>| {
            endings.truncate(MOST_ENDINGS);
            let first = endings[0].clone();
            let dotted: Vec<String> = endings.into_iter().map(|ending| format!(".{ending}")).collect();
            let found = either_of(&dotted).replace(" or ", " and ");
            format!(
                ": expected {looked_for} beside it, found {found} (--text-extension={first} takes such files)"
            )
        };
        let of_sound = beside.into_iter().map(|(sound, endings)| (sound, clause(endings))).collect();
        let looked_for = format!(
            ": expected {looked_for} beside it (--text-extension=ENDINGS takes files with other endings)"
        );
        self.drafts.hints = Hints { looked_for, of_sound };
    }

    /// A clause about a recording whose name has other capitals, or an empty one.
    fn other_capitals(&self, stem: &str) -> String {
        match self.by_lower.get(&stem.to_lowercase()).map(|&number| self.files[number].display()) {
            Some(file) => format!("; {file} differs in capitals only: both need the same name"),
            None => String::new(),
        }
    }

    /// The recording with this place and name, or the only one with the name.
    fn sound_of(&self, base: &Path) -> Option<usize> {
        if let Some(&number) = self.by_place.get(base) {
            return Some(number);
        }
        match self.by_stem.get(base.file_name()?.to_str()?)?.as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    }

    /// The recording that a file of ELAN names.
    fn of_media(&self, media: &[Media], file: &Path) -> Option<(usize, f64)> {
        media.iter().find_map(|media| {
            let relative = media.relative.as_deref().unwrap_or("");
            let relative = relative.strip_prefix("file:").unwrap_or(relative);
            let names = [relative, &media.url].map(|name| name.replace("%20", " ").replace('\\', "/"));
            let folder = file.parent()?;
            let places = [folder.join(&names[0]), folder.join(names[1].rsplit('/').next()?)];
            let by_place = places.iter().find_map(|place| {
                // (`./` and `../` go away; links stay.)
                let place = std::path::absolute(place).ok()?;
                self.by_place.get(&normal(&place).with_extension(""))
            });
            let number =
                by_place.copied().or_else(|| self.sound_of(&normal(&places[1]).with_extension("")))?;
            Some((number, media.origin))
        })
    }

    /// Adds the utterances of a file for a recording, unless it has some.
    fn take(&mut self, sound: usize, file: &Path, taken: &mut BTreeMap<usize, PathBuf>, options: &Options) {
        let place = file.display().to_string();
        if let Some(other) = taken.get(&sound) {
            let sentence = format!("{} is the text of this recording", other.display());
            self.drafts.fault(Fault::warning(Kind::SeveralTexts, place, sentence));
            return;
        }
        let sidecar = sidecar::read(file, &options.tiers);
        let (sound, origin) = self.of_media(&sidecar.media, file).unwrap_or((sound, 0.0));
        if taken.contains_key(&sound) {
            let sentence = "it names a recording that has a text".to_owned();
            self.drafts.fault(Fault::warning(Kind::SeveralTexts, place, sentence));
            return;
        }
        self.add(sound, origin, sidecar, file, taken);
    }

    fn add(
        &mut self,
        sound: usize,
        origin: f64,
        sidecar: Sidecar,
        file: &Path,
        taken: &mut BTreeMap<usize, PathBuf>,
    ) {
        let is_usable = !sidecar.spoken.is_empty();
        for fault in sidecar.faults {
            self.drafts.faults.push((fault, (!is_usable).then_some(sound)));
        }
        if is_usable {
            taken.insert(sound, file.to_owned());
        }
        // The fault of its text says that it is lost.
        self.drafts.sounds[sound].is_excused = true;
        for spoken in sidecar.spoken {
            let span = spoken.span.map(|(begin, end)| (begin + origin, end + origin));
            let (speaker, text, place) = (spoken.speaker, spoken.text, spoken.place);
            self.drafts.drafts.push(Draft { sound, key: None, span, speaker, text, place });
        }
    }

    /// A text without a recording of its name: a file of ELAN may name another one, and a text may be a list of several.
    fn orphan(
        &mut self,
        text: &TextFile,
        is_beside: bool,
        taken: &mut BTreeMap<usize, PathBuf>,
        options: &Options,
    ) {
        let place = text.file.display().to_string();
        let name = text.base.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if ABOUT.iter().any(|about| name.starts_with(about)) {
            self.drafts.fault(Fault::warning(Kind::TextWithoutSound, place, "it is not taken for a text"));
            return;
        }
        if let Ok(content) = text::read(&text.file)
            && self.list(&content, text, taken)
        {
            return;
        }
        let sidecar = sidecar::read(&text.file, &options.tiers);
        if let Some((sound, origin)) =
            self.of_media(&sidecar.media, &text.file).filter(|(sound, _)| !taken.contains_key(sound))
        {
            self.add(sound, origin, sidecar, &text.file, taken);
            return;
        }
        let stem = text.base.file_name().and_then(|stem| stem.to_str()).unwrap_or_default();
        let sentence = match self.by_stem.get(stem).map(Vec::len) {
            Some(count) => format!("there are {count} recordings of this name, and none beside it"),
            None => format!("there is no recording of this name{}", self.other_capitals(stem)),
        };
        // A plain text in a folder of other things need not be one of a recording.
        let has_times = sidecar.spoken.iter().any(|spoken| spoken.span.is_some());
        match (is_beside, sidecar.spoken.as_slice()) {
            (_, spoken) if has_times => {
                for spoken in spoken {
                    let seconds = spoken.span.map_or(0.0, |(begin, end)| (end - begin).max(0.0));
                    self.drafts.fault(Fault::loss(Kind::TextWithoutSound, &spoken.place, &sentence, seconds));
                }
            }
            (true, _) => self.drafts.fault(Fault::loss(Kind::TextWithoutSound, place, sentence, 0.0)),
            (false, _) => self.drafts.fault(Fault::warning(Kind::TextWithoutSound, place, sentence)),
        }
    }

    /// Takes a file with lines of the name of a recording and its text (`1-2-0003 she said …`). False if it is none.
    fn list(&mut self, content: &str, text: &TextFile, taken: &mut BTreeMap<usize, PathBuf>) -> bool {
        let lines = listed::lines(content);
        let of = |tree: &Tree, key: &str| {
            let key = path::without_sound_extension(key.rsplit('/').next().unwrap_or(key));
            tree.sound_of(&text.file.with_file_name(key))
        };
        let known = lines.iter().filter(|(_, key, _)| of(self, key).is_some()).count();
        if known == 0 || known * 2 < lines.len() {
            return false;
        }
        for (line, key, words) in lines {
            let place = format!("{}, line {line}", text.file.display());
            let Some(sound) = of(self, key) else {
                let stem = path::without_sound_extension(key.rsplit('/').next().unwrap_or(key));
                let sentence = match self.by_stem.contains_key(stem) {
                    true => format!("there is no recording '{key}'"),
                    false => format!("there is no recording '{key}'{}", self.other_capitals(stem)),
                };
                self.drafts.fault(Fault::loss(Kind::TextWithoutSound, place, sentence, 0.0));
                continue;
            };
            if let Some(other) = taken.get(&sound).filter(|other| **other != text.file) {
                let sentence = format!("{} is the text of '{key}'", other.display());
                self.drafts.fault(Fault::warning(Kind::SeveralTexts, place, sentence));
                continue;
            }
            taken.insert(sound, text.file.clone());
            let text = text::single_blanks(words);
            self.drafts.drafts.push(Draft { sound, key: None, span: None, speaker: None, text, place });
        }
        true
    }
}

/// Endings of other files beside a recording that are named.
const MOST_ENDINGS: usize = 3;

/// Names with commas between them, and `or` before the last.
fn either_of(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// A path without `.` and `..`.
fn normal(place: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in place.components() {
        match part {
            std::path::Component::ParentDir => drop(out.pop()),
            std::path::Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}
