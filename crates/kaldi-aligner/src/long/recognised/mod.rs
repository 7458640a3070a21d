//! Long recordings that a recogniser has heard: cut into utterances where what was heard is what the transcript says.
//!
//! This is the other way to cut them: the [search](super) of a whole text allows sound without text and text without sound at
//! pauses alone, and needs no language model. A recogniser with a language model of the transcript hears each window by itself,
//! so a transcript may lack or have whole passages.
//!
//! - `recordings.rs`: the recordings and their transcripts, checked; those with features.
//! - `windows.rs`: windows of features that overlap, and the words that are heard in them.
//! - `blocks.rs`: the stretches that two sequences of words share.
//! - `utterances.rs`: utterances between pauses of these stretches.

mod blocks;
mod recordings;
mod utterances;
mod windows;

pub use recordings::{check, keep_those_with_features};
pub use utterances::{Cut, CutOptions, cut};
pub use windows::{pieces_of_transcript, windows};

use kaldi_io::KaldiWriter;
use kaldi_lang::plain_text;
use rustc_hash::FxHashMap;

use crate::{Error, Result};

/// Frames of features in a second.
const FRAMES: f64 = 100.0;

fn line_error(file: &str, line: usize, problem: impl Into<String>) -> Error {
    kaldi_lang::Error::Line { file: file.to_owned(), line, problem: problem.into() }.into()
}

fn write<'l>(file: &str, lines: impl Iterator<Item = &'l str>) -> Result<()> {
    let mut out = KaldiWriter::create(file, false)?;
    for line in lines {
        out.write_str(line)?;
        out.write_str("\n")?;
    }
    Ok(out.finish()?)
}

/// The words of `words.txt` by their numbers.
fn known_words(file: &str) -> Result<FxHashMap<u64, String>> {
    let text = plain_text::read(file)?;
    let mut words = FxHashMap::default();
    for (line, content) in plain_text::lines(&text) {
        let columns = plain_text::fields(content);
        match columns[..] {
            [word, number] if let Some(number) = digits(number) => words.insert(number, word.to_owned()),
            _ => {
                let found = columns.join(" ");
                return Err(line_error(
                    file,
                    line,
                    format!("expected a word and its number, found '{found}'"),
                ));
            }
        };
    }
    Ok(words)
}

fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Numbers of frames by the keys of features.
fn lengths(file: &str) -> Result<FxHashMap<String, u64>> {
    let text = plain_text::read(file)?;
    let mut lengths = FxHashMap::default();
    for (line, content) in plain_text::lines(&text) {
        match plain_text::fields(content)[..] {
            [key, count] if let Some(count) = digits(count) => lengths.insert(key.to_owned(), count),
            _ => {
                let problem = format!("expected a key and a number of frames, found '{content}'");
                return Err(line_error(file, line, problem));
            }
        };
    }
    Ok(lengths)
}

/// Speakers by recordings; empty if there is no such file.
fn speakers(file: &str) -> Result<FxHashMap<String, String>> {
    let mut speakers = FxHashMap::default();
    if !std::path::Path::new(file).exists() {
        return Ok(speakers);
    }
    let text = plain_text::read(file)?;
    for (line, content) in plain_text::lines(&text) {
        let columns = plain_text::fields(content);
        let [recording, speaker] = columns[..] else {
            let found = columns.join(" ");
            return Err(line_error(
                file,
                line,
                format!("expected a recording and its speaker, found '{found}'"),
            ));
        };
        speakers.insert(recording.to_owned(), speaker.to_owned());
    }
    Ok(speakers)
}
