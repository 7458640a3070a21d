//! Faults of recordings that are found before anything is loaded.

use std::fs::File;

use kaldi_io::error::without_numbers;
use kaldi_io::filename::RxFilename;
use nnet3_online::RecordingWarning;

/// The fault of a recording's name, or of the file that it names: a clause behind the name. `None` if it may be a recording.
pub fn fault(path: &str) -> Option<String> {
    let file = match RxFilename::parse(path) {
        Ok(RxFilename::Stdin | RxFilename::Pipe(_)) => return None,
        Ok(RxFilename::File(file) | RxFilename::Offset(file, _)) => file,
        Err(error) => return Some(error.to_string()),
    };
    if !file.exists() && is_address(path) {
        return Some(format!(
            "addresses are not read: give a file, or the command 'curl -sSfL {path} |' in quotes"
        ));
    }
    if file.is_dir() {
        let folder = path.trim_end_matches('/');
        return Some(format!(
            "it is a folder: give its recordings ({folder}/*), or a list of them to scripts/transcribe_many.sh"
        ));
    }
    match file.metadata() {
        Err(error) => Some(without_numbers(&error.to_string())),
        // (A named pipe is opened once.)
        Ok(data) if !data.is_file() => None,
        Ok(data) if data.len() == 0 => Some("the file is empty".to_owned()),
        Ok(_) if kaldi_sound::is_text_file(&file) => Some("expected a recording, found a text".to_owned()),
        Ok(_) => File::open(&file).err().map(|error| without_numbers(&error.to_string())),
    }
}

/// True for names such as `https://…`.
fn is_address(path: &str) -> bool {
    path.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
    })
}

/// Returns advice for a recording that cannot be read, as the end of a sentence: samples without a header need `--raw`.
pub fn advice(error: &kaldi_sound::Error) -> &'static str {
    match error {
        kaldi_sound::Error::NoForm { .. } => "; --raw=CODING,RATE reads samples without a header",
        _ => "",
    }
}

/// The text of a warning about a recording, with the option that may help.
pub fn with_hint(warning: &RecordingWarning) -> String {
    let hint = match warning {
        RecordingWarning::Silent { others, .. } if warning.concerns_channels() => {
            let other = others.first().copied().unwrap_or_default();
            format!("; see --channels (--channels={other} takes that one)")
        }
        _ if warning.concerns_channels() => "; see --channels".to_owned(),
        RecordingWarning::Sound(warning) => {
            warning.setting().map_or(String::new(), |setting| format!("; see --{setting}"))
        }
        _ => String::new(),
    };
    format!("{warning}{hint}")
}

/// The text of an error with the name of the recording before it, unless it is in it already.
pub fn named(path: &str, text: String) -> String {
    let text = without_numbers(&text);
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || "_/.-".contains(c));
    let is_name = |(at, _): (usize, &str)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + path.len()..].chars().next());
        !is_part(before) && !is_part(after)
    };
    if text.match_indices(path).any(is_name) { text } else { format!("{path}: {text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_named_once() {
        for (text, expected) in [
            ("too short", "a.wav: too short"),
            ("a.wav has no channel 2", "a.wav has no channel 2"),
            ("cannot open a.wav: denied", "cannot open a.wav: denied"),
            ("aa.wav or a.wavs", "a.wav: aa.wav or a.wavs"),
        ] {
            assert_eq!(named("a.wav", text.to_owned()), expected);
        }
    }

    #[test]
    fn faults_of_names() {
        assert!(fault("-").is_none() && fault("cat nowhere.wav |").is_none());
        assert!(
            fault("https://example.org/a.wav").unwrap().contains("'curl -sSfL https://example.org/a.wav |'")
        );
        assert!(fault("Cargo.toml").unwrap().contains("found a text"));
        assert!(fault("/").unwrap().starts_with("it is a folder: give its recordings (/*)"));
        assert!(fault("/nowhere/a.wav").unwrap().contains("No such file"));
        assert!(fault("/nowhere/a.ark:12").unwrap().contains("No such file"));
    }
}
