//! Writes a corpus as a data folder of Kaldi.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use kaldi_io::escape::shell_escape;
use kaldi_io::{KaldiWriter, temporary};

use crate::corpus::{Corpus, Recording, Source};
use crate::{Error, Result};

/// The extended file name by which Kaldi's programs read a recording as a wave with one channel and this rate in Hz: the file
/// itself if it is such a wave (its first channel counts), otherwise a command with the program `sound-to-wav`.
pub fn sound(recording: &Recording, rate: Option<u32>) -> String {
    let is_given = matches!(recording.source, Source::Extended(_));
    let has_rate = rate.is_none_or(|rate| recording.rate == rate || recording.rate == 0);
    if (recording.is_wave || is_given) && recording.channel == Some(0) && has_rate {
        return recording.source.rxfilename();
    }
    let mut command = String::from("sound-to-wav");
    match recording.channel {
        Some(0) => {}
        Some(channel) => drop(write!(command, " --channels={}", channel + 1)),
        None => command.push_str(" --channels=mix"),
    }
    if let Some(rate) = rate.filter(|_| !has_rate) {
        let _ = write!(command, " --sample-frequency={rate}");
    }
    let name = recording.source.rxfilename();
    match name.strip_suffix('|') {
        Some(input) => format!("{} | {command} - - |", input.trim_end()),
        None => format!("{command} {} - |", shell_escape(&name)),
    }
}

/// Makes a folder, if it is missing.
///
/// # Errors
/// The folder cannot be made.
pub fn new_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|source| Error::io(folder, source))
}

/// Files of a data folder that this writes.
const FILES: [&str; 7] = ["wav.scp", "segments", "text", "utt2spk", "spk2utt", "utt2dur", "reco2dur"];

/// Writes `wav.scp`, `text`, `utt2spk`, `spk2utt`, `segments` if utterances are parts of recordings, and `utt2dur` and
/// `reco2dur` if lengths are known. `sound` gives the extended file name by which programs open a recording. The folder
/// appears whole: it must not be there yet, or have data files alone, which are replaced.
///
/// # Errors
/// A file cannot be written, or the folder has other files.
pub fn data_folder(corpus: &Corpus, folder: &Path, sound: impl Fn(&Recording) -> String) -> Result<()> {
    let output =
        |message: &str| Error::Output { path: folder.display().to_string(), message: message.to_owned() };
    let replaces = match fs::read_dir(folder) {
        Ok(entries) => {
            for entry in entries {
                let name = entry.map_err(|source| Error::io(folder, source))?.file_name();
                if !FILES.iter().any(|file| name == *file) {
                    let message = format!("the folder is there, and has other files ({})", name.display());
                    return Err(output(&message));
                }
            }
            true
        }
        Err(_) if folder.exists() => return Err(output("expected a folder, found a file")),
        Err(_) => false,
    };
    let name = folder.file_name().ok_or_else(|| output("expected the name of a folder"))?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".old.{}", std::process::id()));
    let old = Remove(folder.with_file_name(hidden));
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::io(&path, source)
    };
    fs::create_dir_all(parent).map_err(failed(parent))?;
    let new = temporary::Folder::new_in(parent).map_err(failed(folder))?;
    for (file, text) in contents(corpus, sound) {
        let file = new.path().join(file);
        fs::write(&file, text).map_err(failed(&file))?;
    }
    if replaces {
        fs::rename(folder, &old.0).map_err(failed(folder))?;
    }
    new.rename(folder)
        .inspect_err(|_| {
            // The old folder stays if the new one cannot be put in its place.
            let _ = fs::rename(&old.0, folder);
        })
        .map_err(failed(folder))
}

/// A folder that goes away with the value.
struct Remove(PathBuf);

impl Drop for Remove {
    fn drop(&mut self) {
        // (It is not there if all went well.)
        let _gone = fs::remove_dir_all(&self.0);
    }
}

fn contents(corpus: &Corpus, sound: impl Fn(&Recording) -> String) -> Vec<(&'static str, String)> {
    let has_spans = corpus.utterances.iter().any(|utterance| utterance.span.is_some());
    let keys = recording_keys(corpus);
    let mut files: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    let mut put = |file: &'static str, line: String| files.entry(file).or_default().push(line);
    for (recording, key) in corpus.recordings.iter().zip(keys) {
        put("wav.scp", format!("{key} {}", sound(recording)));
        if recording.seconds > 0.0 {
            put("reco2dur", format!("{key} {:.3}", recording.seconds));
        }
    }
    for utterance in &corpus.utterances {
        let (id, recording) = (&utterance.id, &corpus.recordings[utterance.recording]);
        put("text", format!("{id} {}", utterance.text));
        put("utt2spk", format!("{id} {}", utterance.speaker));
        if has_spans {
            let (begin, end) = utterance.span.unwrap_or((0.0, recording.seconds));
            put("segments", format!("{id} {} {begin:.3} {end:.3}", recording.id));
        }
        let seconds = corpus.seconds(utterance);
        if seconds > 0.0 {
            put("utt2dur", format!("{id} {seconds:.3}"));
        }
    }
    for (speaker, utterances) in corpus.speakers() {
        let mut line = speaker.to_owned();
        for number in utterances {
            let _ = write!(line, " {}", corpus.utterances[number].id);
        }
        put("spk2utt", line);
    }
    let text = |mut lines: Vec<String>| {
        lines.sort();
        lines.iter().map(|line| format!("{line}\n")).collect::<String>()
    };
    files.into_iter().map(|(file, lines)| (file, text(lines))).collect()
}

/// Writes by what later steps notice that a recording has changed: lines of its key in the data folder, bytes, time of change in
/// nanoseconds, rate in Hz and seconds. A command has 0 bytes and time 0.
///
/// # Errors
/// The file cannot be written.
pub fn stamps(corpus: &Corpus, file: &Path) -> Result<()> {
    let name = file.to_str().ok_or_else(|| Error::Output {
        path: file.display().to_string(),
        message: "the name is not UTF-8".to_owned(),
    })?;
    let mut lines = Vec::with_capacity(corpus.recordings.len());
    for (recording, key) in corpus.recordings.iter().zip(recording_keys(corpus)) {
        let (mut bytes, mut changed) = (0, 0);
        let source = recording.source.rxfilename();
        if !source.ends_with('|') {
            // (Also the file before a colon and an offset.)
            let path = match &recording.source {
                Source::File(path) => path.clone(),
                Source::Extended(name) => {
                    name.rsplit_once(':').map_or(name.as_str(), |(file, _)| file).into()
                }
            };
            let data = fs::metadata(&path).map_err(|source| Error::io(&path, source))?;
            bytes = data.len();
            let time = data.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
            changed = time.map_or(0, |time| time.as_nanos());
        }
        lines.push(format!("{key} {bytes} {changed} {} {:.3}\n", recording.rate, recording.seconds));
    }
    lines.sort();
    let mut out = KaldiWriter::create(name, false)?;
    out.write_str(&lines.concat())?;
    Ok(out.finish()?)
}

/// The keys of recordings in the data folder. Without segments, a recording has the name of its utterance.
fn recording_keys(corpus: &Corpus) -> Vec<&str> {
    let mut keys: Vec<&str> = corpus.recordings.iter().map(|recording| recording.id.as_str()).collect();
    if corpus.utterances.iter().all(|utterance| utterance.span.is_none()) {
        for utterance in &corpus.utterances {
            keys[utterance.recording] = &utterance.id;
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_are_read_as_they_are_and_others_by_a_command() {
        let recording = |source: Source, is_wave, rate, channel| Recording {
            id: "r".to_owned(),
            path: vec!["r".to_owned()],
            source,
            channel,
            channels: 2,
            rate,
            seconds: 1.0,
            promised_seconds: 1.0,
            is_wave,
            levels: None,
        };
        let file = || Source::File("/a b/c.x".into());
        let command = || Source::Extended("cat x |".to_owned());
        let of =
            |source, is_wave, rate, channel| sound(&recording(source, is_wave, rate, channel), Some(16000));
        assert_eq!(of(file(), true, 16000, Some(0)), "/a b/c.x");
        assert_eq!(of(file(), false, 16000, Some(0)), "sound-to-wav '/a b/c.x' - |");
        assert_eq!(
            of(file(), true, 44100, Some(1)),
            "sound-to-wav --channels=2 --sample-frequency=16000 '/a b/c.x' - |"
        );
        assert_eq!(of(file(), true, 16000, None), "sound-to-wav --channels=mix '/a b/c.x' - |");
        assert_eq!(of(command(), false, 16000, Some(0)), "cat x |");
        assert_eq!(
            of(command(), false, 44100, Some(0)),
            "cat x | sound-to-wav --sample-frequency=16000 - - |"
        );
    }
}
