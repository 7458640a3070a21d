//! Maps of labels of frames in files.

use anyhow::{Context, Result};
use kaldi_io::KaldiReader;
use kaldi_speaker::vad_labels::parse_map;

/// Reads lines of `N` integers; without a name there are no lines.
pub fn read_map<const N: usize>(file: &str) -> Result<Vec<[i32; N]>> {
    if file.is_empty() {
        return Ok(Vec::new());
    }
    let mut reader = KaldiReader::open_raw(file)?;
    let mut lines = Vec::new();
    while let Some(line) = reader.read_line()? {
        lines.push(line);
    }
    reader.finish()?;
    parse_map(&lines).with_context(|| file.to_owned())
}
