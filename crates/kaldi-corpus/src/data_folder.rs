//! Kaldi's data folders: `wav.scp`, `text`, and maybe `segments`, `utt2spk`.

use std::path::Path;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::assembly::{Draft, Drafts, Sound};
use crate::fault::{Fault, Kind};
use crate::listed::{keyed, source, speakers_of};
use crate::{Error, Result, text};

/// True for a folder with `wav.scp`.
pub(crate) fn is_one(folder: &Path) -> bool {
    folder.join("wav.scp").is_file()
}

pub(crate) fn read(folder: &Path) -> Result<Drafts> {
    let file = |name: &str| Some(folder.join(name)).filter(|file| file.is_file());
    let Some(texts) = file("text") else {
        return Err(Error::form(folder, "expected a file 'text' beside 'wav.scp', found none"));
    };
    let mut drafts = Drafts::default();
    let recordings = recordings(folder, &mut drafts)?;
    let segments = match file("segments") {
        Some(segments) => Some(read_segments(&segments, &mut drafts)?),
        None => None,
    };
    let speakers = speakers_of(file("utt2spk").as_deref(), &mut drafts)?;
    let mut has_text: FxHashSet<String> = FxHashSet::default();
    for (line, key, words) in keyed(&texts, &mut drafts)? {
        let place = format!("{}, line {line}", texts.display());
        has_text.insert(key.clone());
        let (recording, span, source) = match &segments {
            None => (Some(key.as_str()), None, "wav.scp"),
            Some(segments) => match segments.get(&key) {
                Some(Some((recording, span))) => (Some(recording.as_str()), Some(*span), "wav.scp"),
                // (The fault of its segment is its loss.)
                Some(None) => continue,
                None => (None, None, "segments"),
            },
        };
        let number = recording.and_then(|recording| recordings.get(recording)).copied();
        match number {
            Some(usize::MAX) => {
                let sentence = format!("the recording of '{key}' cannot be opened");
                drafts.fault(Fault::loss(Kind::UnreadableSound, place, sentence, 0.0));
            }
            Some(sound) => {
                let (speaker, text) = (speakers.get(&key).cloned(), text::single_blanks(&words));
                drafts.drafts.push(Draft { sound, key: Some(key), span, speaker, text, place });
            }
            None => {
                let sentence = format!("there is no '{}' in {source}", recording.unwrap_or(&key));
                drafts.fault(Fault::loss(Kind::TextWithoutSound, place, sentence, 0.0));
            }
        }
    }
    without_text(folder, segments, &has_text, &mut drafts);
    Ok(drafts)
}

/// `{recording: its number}`, with `usize::MAX` for one that is not there.
fn recordings(folder: &Path, drafts: &mut Drafts) -> Result<FxHashMap<String, usize>> {
    let scp = folder.join("wav.scp");
    let mut numbers = FxHashMap::default();
    for (line, key, value) in keyed(&scp, drafts)? {
        let place = format!("{}, line {line}", scp.display());
        match source(&value, folder) {
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
                // The loss is that of its utterances.
                drafts.fault(Fault::warning(kind, place, sentence));
                numbers.insert(key, usize::MAX);
            }
        }
    }
    Ok(numbers)
}

/// Recording and times; `None` for a line that cannot be used, whose fault is noted.
type Segments = FxHashMap<String, Option<(String, (f64, f64))>>;

fn read_segments(file: &Path, drafts: &mut Drafts) -> Result<Segments> {
    let mut segments = Segments::default();
    for (line, key, value) in keyed(file, drafts)? {
        let columns: Vec<&str> = value.split_whitespace().collect();
        let time = |column: usize| columns.get(column).and_then(|time| time.parse::<f64>().ok());
        // (A fifth column, the channel, is that of the recording.)
        let segment = match (columns.len(), time(1), time(2)) {
            (3 | 4, Some(begin), Some(end)) => Some((columns[0].to_owned(), (begin, end))),
            _ => {
                let place = format!("{}, line {line}", file.display());
                let sentence =
                    format!("expected a recording, a beginning and an end behind '{key}', found '{value}'");
                drafts.fault(Fault::loss(Kind::BadSpan, place, sentence, 0.0));
                None
            }
        };
        segments.insert(key, segment);
    }
    Ok(segments)
}

/// Segments without a text are lost one by one, not the recording.
fn without_text(
    folder: &Path,
    segments: Option<Segments>,
    has_text: &FxHashSet<String>,
    drafts: &mut Drafts,
) {
    let Some(segments) = segments else { return };
    let used: FxHashSet<&str> =
        segments.values().flatten().map(|(recording, _)| recording.as_str()).collect();
    for sound in &mut drafts.sounds {
        sound.is_excused = sound.key.as_deref().is_some_and(|key| used.contains(key));
    }
    let mut missing: Vec<_> = segments.iter().filter(|(key, _)| !has_text.contains(*key)).collect();
    missing.sort_by_key(|(key, _)| *key);
    for (key, segment) in missing {
        let Some((_, (begin, end))) = segment else { continue };
        let place = folder.join("segments").display().to_string();
        let sentence = format!("there is no text for '{key}'");
        drafts.fault(Fault::loss(Kind::SoundWithoutText, place, sentence, (end - begin).max(0.0)));
    }
}
