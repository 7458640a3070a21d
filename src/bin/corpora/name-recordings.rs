//! `name-recordings`: a list of recordings → names that stay.

#![cfg(feature = "sound")]

use anyhow::Result;
use kaldi_corpus::many::{Folder, read_list};
use kaldi_io::text::count;
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

pub fn run(options: Options) -> Result<u8> {
    let listed = read_list(options.list.as_ref())?;
    let again = Folder::new(&options.folder, &options.suffix).name(&listed)?;
    if again > 0 {
        messages::log(&format!(
            "{}, of other recordings or of recordings that have changed since: made again",
            count(again, "text")
        ));
    }
    Ok(0)
}
