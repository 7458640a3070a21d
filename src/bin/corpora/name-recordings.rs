//! `name-recordings`: a list of recordings → names that stay.

#![cfg(feature = "sound")]

use anyhow::Result;
use kaldi_corpus::many::{Folder, List, read_list};
use kaldi_io::text::{count, either};
use nnet3::messages;

/// Name the recordings of a list, for jobs that recognise them, and remove texts of other recordings or of recordings that have
/// changed since.
///
/// A line of the list is a file, or a name, a tab and a file; or the list is a folder of recordings. Names are readable and unique. The folder gets names (name and path
/// of the recordings, in the order of the list) and recordings (name, path, size and time of change of all recordings so far). A
/// name belongs to one path as long as the list has that path. Texts are the files texts/NAME.SUFFIX.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: name-recordings recordings.txt out txt\nSee also: batch-recordings, collect-texts, nnet3-transcribe"
)]
pub struct Options {
    list: String,
    #[arg(value_name = "dir")]
    folder: String,
    suffix: String,
}

/// Files that are named.
const NAMED: usize = 3;

pub fn run(options: Options) -> Result<u8> {
    let List { recordings, others } = read_list(options.list.as_ref())?;
    if !others.is_empty() {
        let first: Vec<String> = others.iter().take(NAMED).map(|file| file.display().to_string()).collect();
        messages::log(&format!(
            "{} of the folder {}: the names do not end as those of recordings do, for example {} (a list may have any names)",
            count(others.len(), "file"),
            either(others.len(), "is left out", "are left out"),
            first.join(", ")
        ));
    }
    let again = Folder::new(&options.folder, &options.suffix).name(&recordings)?;
    if again > 0 {
        messages::log(&format!(
            "{}, of other recordings or of recordings that have changed since: made again",
            count(again, "text")
        ));
    }
    Ok(0)
}
