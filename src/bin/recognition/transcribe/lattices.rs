//! Lattices that are kept for later searches: a folder with an archive for each recording, a lattice for each sentence.

use std::path::Path;

use anyhow::{Context, Result};
use kaldi_io::filename::as_path;
use kaldi_io::{TableWriter, temporary};
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

/// Writes the lattices of a recording. The archive appears whole when it is closed.
pub struct Keeper<'n> {
    name: &'n str,
    file: &'n str,
    archive: TableWriter<CompactLatticeHolder>,
    /// The folder of the archive until then.
    private: temporary::Folder,
}

/// The name of an archive in its private folder.
const UNFINISHED: &str = "lattices";

impl<'n> Keeper<'n> {
    /// Begins an archive. Keys have the recording's name, without blanks.
    pub fn create(file: &'n str, name: &'n str) -> Result<Keeper<'n>> {
        let folder = Path::new(file).parent().unwrap_or(Path::new("."));
        let private = temporary::Folder::new_in(folder).with_context(|| format!("--lattices: {file}"))?;
        let place = private.path().join(UNFINISHED);
        let archive = as_path(|| TableWriter::open(&format!("ark:{}", place.display())))?;
        Ok(Keeper { name, file, archive, private })
    }

    /// Adds the lattice of a sentence, if it has one.
    pub fn keep(&mut self, sentence: &Sentence) -> Result<()> {
        let Some(lattice) = &sentence.transcript.lattice else { return Ok(()) };
        let key = key(self.name, sentence.channel, sentence.transcript.start);
        self.archive.write(&key, lattice).context("--lattices")
    }

    /// Gives the archive its name.
    pub fn close(self) -> Result<()> {
        self.archive.close()?;
        std::fs::rename(self.private.path().join(UNFINISHED), self.file)
            .with_context(|| format!("--lattices: {}", self.file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_appears_when_it_is_closed() {
        let folder = std::env::temp_dir().join(format!("kept-lattices-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let entries = || std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
        let file = archive(folder.to_str().unwrap(), "a b");
        std::fs::write(&file, "before").unwrap();
        drop(Keeper::create(&file, "a_b").unwrap());
        assert_eq!((entries().count(), std::fs::read(&file).unwrap()), (1, b"before".to_vec()));
        Keeper::create(&file, "a_b").unwrap().close().unwrap();
        assert_eq!((entries().count(), std::fs::read(&file).unwrap()), (1, Vec::new()));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn keys_have_the_begin_of_a_sentence() {
        let key = key("a-b", 2, 7.0304);
        assert_eq!(key, "a-b-2-000007030");
        assert_eq!(start(&key), Some(7.03));
        assert_eq!(start("a_b"), None);
    }
}
