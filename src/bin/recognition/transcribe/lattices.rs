//! Lattices that are kept for later searches: a folder with an archive for each recording, a lattice for each sentence.

use anyhow::{Context, Result};
use kaldi_io::TableWriter;
use kaldi_io::filename::as_path;
use nnet3_decode::CompactLatticeHolder;
use nnet3_online::Sentence;

/// The ending of archives.
pub const SUFFIX: &str = "lat";

/// The archive of a recording in a folder.
pub fn archive(folder: &str, name: &str) -> String {
    format!("{folder}/{name}.{SUFFIX}")
}

/// The key of a sentence: the name of the recording, the channel, and the begin in milliseconds.
fn key(name: &str, channel: usize, start: f64) -> String {
    format!("{name}-{channel}-{:09}", (start * 1000.0).round() as u64)
}

/// The begin of a sentence in seconds, by its key.
pub fn start(key: &str) -> Option<f64> {
    let (_, start) = key.rsplit_once('-')?;
    Some(f64::from(start.parse::<u32>().ok()?) / 1000.0)
}

/// Writes the lattices of a recording. The archive appears whole.
pub struct Keeper<'n> {
    name: &'n str,
    archive: TableWriter<CompactLatticeHolder>,
}

impl<'n> Keeper<'n> {
    /// Begins an archive. Keys have the recording's name, without blanks.
    pub fn create(file: &str, name: &'n str) -> Result<Keeper<'n>> {
        Ok(Keeper { name, archive: as_path(|| TableWriter::open(&format!("ark:{file}")))? })
    }

    /// Adds the lattice of a sentence, if it has one.
    pub fn keep(&mut self, sentence: &Sentence) -> Result<()> {
        let Some(lattice) = &sentence.transcript.lattice else { return Ok(()) };
        let key = key(self.name, sentence.channel, sentence.transcript.start);
        self.archive.write(&key, lattice).context("--lattices")
    }

    pub fn close(self) -> Result<()> {
        Ok(self.archive.close()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_begin_of_a_sentence() {
        let key = key("a-b", 2, 7.0304);
        assert_eq!(key, "a-b-2-000007030");
        assert_eq!(start(&key), Some(7.03));
        assert_eq!(start("a_b"), None);
    }
}
