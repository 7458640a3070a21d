//! Lattices that are kept for later searches: a folder with an archive for each recording, a lattice for each sentence.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result, bail};
use kaldi_io::filename::as_path;
use kaldi_io::{TableWriter, temporary};
use nnet3_decode::CompactLatticeHolder;
use nnet3_online::{Model, Sentence};

/// The ending of archives.
pub const SUFFIX: &str = "lat";

/// The archive of a recording in a folder.
pub fn archive(folder: &str, name: &str) -> String {
    format!("{folder}/{name}.{SUFFIX}")
}

/// The file in the folder that tells which model has made the lattices.
const MODEL: &str = "model.txt";

/// The parts of a model that numbers in lattices refer to: a line with the number and the checksum of its words, and one with the
/// number of its transition-ids.
fn identity(model: &Model) -> String {
    let mut words: Vec<(i32, &str)> = model.words().collect();
    words.sort_unstable();
    let mut sum = crc32fast::Hasher::new();
    words.iter().for_each(|(number, word)| sum.update(format!("{word} {number}\n").as_bytes()));
    let transitions = model.transitions().num_transition_ids();
    format!("words {} {:08x}\ntransition-ids {transitions}\n", words.len(), sum.finalize())
}

/// Fails if the lattices in a folder are those of another model. A folder without a note of its model passes.
pub fn check_model(folder: &str, model: &Model) -> Result<()> {
    match std::fs::read_to_string(Path::new(folder).join(MODEL)) {
        Ok(found) if found != identity(model) => bail!(
            "--lattices={folder}: its lattices were made with another model, whose words or transitions differ ({folder}/{MODEL})"
        ),
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("--lattices={folder}/{MODEL}"))
        }
        _ => Ok(()),
    }
}

/// Notes in a folder which model makes its lattices. Fails if it has lattices of another one.
pub fn note_model(folder: &str, model: &Model) -> Result<()> {
    check_model(folder, model)?;
    let context = || format!("--lattices={folder}/{MODEL}");
    let private = temporary::Folder::new_in(Path::new(folder)).with_context(context)?;
    let unfinished = private.path().join(MODEL);
    std::fs::write(&unfinished, identity(model)).with_context(context)?;
    std::fs::rename(unfinished, Path::new(folder).join(MODEL)).with_context(context)
}

/// Stands before the milliseconds of a time before the recording.
const BEFORE: char = 'b';

/// The key of a sentence: the name of the recording, the channel, and the begin of the lattice in milliseconds.
fn key(name: &str, channel: usize, start: f64) -> String {
    let milliseconds = (start * 1000.0).round();
    let before = if milliseconds < 0.0 { BEFORE.to_string() } else { String::new() };
    format!("{name}-{channel}-{before}{:09}", milliseconds.abs() as u64)
}

/// The channel of a sentence, from 1, and the begin of its lattice in seconds, by its key.
pub fn place(key: &str) -> Option<(usize, f64)> {
    let (rest, start) = key.rsplit_once('-')?;
    let (_, channel) = rest.rsplit_once('-')?;
    let (sign, start) = start.strip_prefix(BEFORE).map_or((1.0, start), |start| (-1.0, start));
    Some((channel.parse().ok()?, sign * f64::from(start.parse::<u32>().ok()?) / 1000.0))
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
        let key = key(self.name, sentence.channel, sentence.transcript.lattice_start);
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
    fn keys_have_the_channel_and_the_begin_of_a_sentence() {
        let key = key("a-b", 2, 7.0304);
        assert_eq!(key, "a-b-2-000007030");
        assert_eq!(place(&key), Some((2, 7.03)));
        let before = super::key("a-b", 1, -0.3);
        assert_eq!((before.as_str(), place(&before)), ("a-b-1-b000000300", Some((1, -0.3))));
        assert_eq!((place("a_b"), place("a_b-000000001")), (None, None));
    }
}
