//! Recordings by key (a folder of sound, or a list), and a table of texts by key.

use std::cell::LazyCell;
use std::path::Path;

use rustc_hash::FxHashMap;

use crate::assembly::{Draft, Drafts, Sound};
use crate::corpus::Source;
use crate::fault::{Fault, Kind};
use crate::{Error, Result, path, text};

/// Lines of a key and a text, with the lines' numbers. Also sphinx's form: `<s> words </s> (key)`.
pub(crate) fn lines(content: &str) -> Vec<(usize, &str, &str)> {
    let rows: Vec<(usize, &str)> = text::lines(content).collect();
    let at_end = |line: &str| line.ends_with(')') && line.contains('(');
    if !rows.is_empty() && rows.iter().all(|(_, line)| at_end(line)) {
        return rows
            .into_iter()
            .filter_map(|(number, line)| {
                let (words, key) = line.strip_suffix(')')?.rsplit_once('(')?;
                let words = words.trim();
                let words = words.strip_prefix("<s>").unwrap_or(words);
                let words = words.strip_suffix("</s>").unwrap_or(words);
                Some((number, key.trim(), words.trim()))
            })
            .filter(|(_, key, _)| !key.is_empty())
            .collect();
    }
    rows.into_iter()
        .map(|(number, line)| {
            let (key, words) = line.split_once([' ', '\t', '\u{a0}', '\u{3000}']).unwrap_or((line, ""));
            (number, key, words.trim())
        })
        .collect()
}

/// A table of Kaldi's: key and value, in the order of the file. A key that comes twice is a fault.
pub(crate) fn keyed(file: &Path, drafts: &mut Drafts) -> Result<Vec<(usize, String, String)>> {
    let content = read_text(file)?;
    let mut seen: FxHashMap<&str, usize> = FxHashMap::default();
    let mut out = Vec::new();
    for (line, key, value) in lines(&content) {
        if let Some(other) = seen.get(key) {
            let place = format!("{}, line {line}", file.display());
            let sentence = format!("'{key}' is in line {other} already, which counts");
            drafts.fault(Fault::loss(Kind::Duplicate, place, sentence, 0.0));
            continue;
        }
        seen.insert(key, line);
        out.push((line, key.to_owned(), value.to_owned()));
    }
    Ok(out)
}

pub(crate) fn read_text(file: &Path) -> Result<String> {
    if let Err(source) = file.metadata() {
        return Err(Error::io(file, source));
    }
    text::read(file).map_err(|message| Error::NotText { file: file.display().to_string(), message })
}

/// A recording of a list: a file, or another extended file name. A file that is not there may lie beside the list.
pub(crate) fn source(value: &str, beside: &Path) -> std::result::Result<Source, (Kind, String)> {
    if value.ends_with('|') || is_offset(value) {
        return Ok(Source::Extended(value.to_owned()));
    }
    let file = Path::new(value);
    let place =
        if !file.exists() && beside.join(file).exists() { beside.join(file) } else { file.to_owned() };
    match place.metadata() {
        Ok(data) if data.is_file() => Ok(Source::File(path::absolute(&place))),
        Ok(_) => Err((
            Kind::UnreadableSound,
            format!("expected a file with sound, found '{value}', which is none"),
        )),
        Err(error) => Err((Kind::UnreadableSound, format!("cannot open '{value}': {error}"))),
    }
}

/// True for `file:offset` of a file that is there.
fn is_offset(value: &str) -> bool {
    value.rsplit_once(':').is_some_and(|(file, offset)| {
        !offset.is_empty()
            && offset.bytes().all(|b| b.is_ascii_digit())
            && !Path::new(value).exists()
            && Path::new(file).is_file()
    })
}

/// `{key: number of the recording}` of a folder, in which a file's name is its key, or of a list.
fn sounds(place: &Path, drafts: &mut Drafts) -> Result<FxHashMap<String, usize>> {
    let mut numbers = FxHashMap::default();
    if place.is_dir() {
        let root = path::absolute(place);
        for file in path::files(&root)?.into_iter().filter(|file| path::is_sound(file)) {
            let name = file.display().to_string();
            let parts = path::parts(&root, &file);
            let key = parts.last().cloned().unwrap_or_default();
            if key.contains(char::is_whitespace) {
                let sentence = "the name is the utterance's key, and must have no blanks";
                drafts.fault(Fault::loss(Kind::BadName, name, sentence, 0.0));
            } else if numbers.contains_key(&key) {
                let sentence = "another recording has the same name, which is the utterance's key";
                drafts.fault(Fault::loss(Kind::Duplicate, name, sentence, 0.0));
            } else {
                numbers.insert(key.clone(), drafts.sounds.len());
                let (source, key) = (Source::File(file), Some(key));
                drafts.sounds.push(Sound { source, path: parts, key, is_excused: false });
            }
        }
        if numbers.is_empty() {
            return Err(Error::form(place, "expected recordings, found no file with the ending of a sound"));
        }
        return Ok(numbers);
    }
    let beside = place.parent().unwrap_or(Path::new("."));
    for (line, key, value) in keyed(place, drafts)? {
        match source(&value, beside) {
            Ok(source) => {
                numbers.insert(key.clone(), drafts.sounds.len());
                drafts.sounds.push(Sound {
                    source,
                    path: vec![key.clone()],
                    key: Some(key),
                    is_excused: false,
                });
            }
            Err((kind, sentence)) => {
                let place = format!("{}, line {line}", place.display());
                drafts.fault(Fault::loss(kind, place, sentence, 0.0));
                // (Its text is part of the same loss.)
                numbers.insert(key, usize::MAX);
            }
        }
    }
    Ok(numbers)
}

/// A clause about a key that is a file's name, or the first fields of a table.
fn hint_at_key(key: &str, is_known: impl Fn(&str) -> bool) -> String {
    let stem = key.rsplit_once('.').map_or(key, |(stem, _)| stem);
    if stem != key && is_known(stem) {
        return format!("; keys are names without their ending: '{stem}'");
    }
    if let Some((first, _)) = key.split_once([',', ';', '|'])
        && (is_known(first) || is_known(first.rsplit_once('.').map_or(first, |(stem, _)| stem)))
    {
        return "; blanks or a tab stand between a key and its words, no commas (a table .csv is a corpus of its own)".to_owned();
    }
    String::new()
}

/// Reads recordings and texts with the same keys.
pub(crate) fn read(sound: &Path, texts: &Path, speakers: Option<&Path>) -> Result<Drafts> {
    for (setting, file) in [("text", Some(texts)), ("utt2spk", speakers)] {
        if let Some(file) = file.filter(|file| !file.exists()) {
            let (value, message) = (file.display().to_string(), "there is no such file".to_owned());
            return Err(Error::Setting { setting, value, message });
        }
    }
    let mut drafts = Drafts::default();
    let numbers = sounds(sound, &mut drafts)?;
    let speakers = speakers_of(speakers, &mut drafts)?;
    let by_lower = LazyCell::new(|| -> FxHashMap<String, &str> {
        numbers.keys().map(|key| (key.to_lowercase(), key.as_str())).collect()
    });
    for (line, key, words) in keyed(texts, &mut drafts)? {
        let place = format!("{}, line {line}", texts.display());
        match numbers.get(&key) {
            Some(&usize::MAX) => {}
            Some(&sound) => {
                let speaker = speakers.get(&key).cloned();
                let text = text::single_blanks(&words);
                drafts.drafts.push(Draft { sound, key: Some(key), span: None, speaker, text, place });
            }
            None => {
                let hint = match by_lower.get(&key.to_lowercase()) {
                    Some(other) => format!("; '{other}' differs in capitals only: both need the same key"),
                    None => hint_at_key(&key, |key| numbers.contains_key(key)),
                };
                let sentence = format!("there is no '{key}' in {}{hint}", sound.display());
                drafts.fault(Fault::loss(Kind::TextWithoutSound, place, sentence, 0.0));
            }
        }
    }
    Ok(drafts)
}

/// `{utterance: speaker}` of a file like `utt2spk`.
pub(crate) fn speakers_of(file: Option<&Path>, drafts: &mut Drafts) -> Result<FxHashMap<String, String>> {
    let Some(file) = file else { return Ok(FxHashMap::default()) };
    drafts.speakers_file = Some(file.to_owned());
    let mut speakers = FxHashMap::default();
    for (line, key, speaker) in keyed(file, drafts)? {
        if speaker.is_empty() {
            let place = format!("{}, line {line}", file.display());
            let sentence = format!("expected a speaker after '{key}', found nothing");
            drafts.fault(Fault::warning(Kind::BadRow, place, sentence));
            continue;
        }
        speakers.insert(key, speaker);
    }
    Ok(speakers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_named_with_its_option() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("text");
        let says = |speakers: Option<&Path>| read(folder.path(), &text, speakers).err().unwrap().to_string();
        assert_eq!(says(None), format!("`text`={}: there is no such file", text.display()));
        std::fs::write(&text, "a b\n").unwrap();
        assert!(says(Some(&folder.path().join("no"))).starts_with("`utt2spk`="));
    }

    #[test]
    fn both_forms_of_lists_are_read() {
        assert_eq!(lines("a she said\n\nb\tno\nc\n"), [(1, "a", "she said"), (3, "b", "no"), (4, "c", "")]);
        let sphinx = "<s> go forward </s> (goforward)\nten (x/numbers)\n";
        assert_eq!(lines(sphinx), [(1, "goforward", "go forward"), (2, "x/numbers", "ten")]);
        assert_eq!(lines(""), []);
    }
}
