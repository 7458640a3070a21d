//! Scores of pairs of vectors that a list of trials names.

use anyhow::{Result, bail};
use kaldi_cli::log::num;
use kaldi_io::text::{FILE_PRECISION, format_g};
use kaldi_io::{KaldiReader, KaldiWriter};
use kaldi_speaker::vectors::Spread;
use nnet3::messages;
use rustc_hash::FxHashMap;

/// Vectors by key, and the name of the set in messages.
pub struct Side<T> {
    pub name: &'static str,
    pub vectors: FxHashMap<String, T>,
}

/// Counts of trials, and statistics of their scores.
#[derive(Default)]
pub struct Counts {
    pub done: u64,
    pub failed: u64,
    pub scores: Spread,
}

impl Counts {
    /// Logs mean and standard deviation of the trials' scores.
    pub fn log(&self, what: &str, separator: &str) {
        if self.done > 0 {
            let (mean, deviation) = (num(self.scores.mean()), num(self.scores.deviation()));
            messages::log(&format!("Mean {what} was {mean}, standard deviation was {deviation}"));
        }
        messages::log(&format!("Processed {} trials{separator} {} had errors.", self.done, self.failed));
    }
}

/// Reads lines `key1 key2` and writes lines `key1 key2 score`. A trial with an unknown key is left out with a warning.
///
/// # Errors
/// If a line has another form, or `score` fails; no file of scores is left then. Also if there is no trial that can be
/// scored.
pub fn score<T>(
    trials: &str,
    [first, second]: [&Side<T>; 2],
    to: &str,
    mut score: impl FnMut(&T, &T) -> Result<f64>,
) -> Result<Counts> {
    let mut reader = KaldiReader::open_raw(trials)?;
    let mut writer = KaldiWriter::create(to, false)?;
    let mut counts = Counts::default();
    let mut number = 0;
    while let Some(line) = reader.read_line()? {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let &[one, other] = &fields[..] else {
            bail!("Bad line {number} in input {trials} (expected two fields: key1 key2): {line}");
        };
        number += 1;
        let (left, right) = (first.vectors.get(one), second.vectors.get(other));
        let (Some(left), Some(right)) = (left, right) else {
            let (key, side) = if left.is_none() { (one, first.name) } else { (other, second.name) };
            messages::warn(&format!("Key {key} not present in {side}."));
            counts.failed += 1;
            continue;
        };
        let value = score(left, right)?;
        if !value.is_finite() {
            bail!("trial {one} {other}: the score is {value}");
        }
        counts.scores.add(value);
        counts.done += 1;
        writer
            .write_str(&format!("{one} {other} {}\n", format_g(f64::from(value as f32), FILE_PRECISION)))?;
    }
    reader.finish()?;
    writer.finish()?;
    Ok(counts)
}
