//! `batch-recordings`: recordings without a text → folders of links, one for each job.

#![cfg(feature = "sound")]

use anyhow::Result;
use kaldi_cli::StandardOutput;
use kaldi_corpus::many::Folder;

/// Make the folders 1, 2, … of links to the recordings without a text, and print their number.
///
/// The folder is that of name-recordings. Recording NAME has a text if there is texts/NAME.SUFFIX. An empty
/// file is no text, but for srt and ctm.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: batch-recordings --size=20 out txt batches\nSee also: name-recordings, collect-texts"
)]
pub struct Options {
    /// Number of recordings in a folder, at most
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    size: u32,
    #[arg(value_name = "dir")]
    folder: String,
    suffix: String,
    #[arg(value_name = "batches-out")]
    batches: String,
}

pub fn run(options: Options) -> Result<u8> {
    let folder = Folder::new(&options.folder, &options.suffix);
    let count = folder.batches(options.size as usize, options.batches.as_ref())?;
    StandardOutput::print(format!("{count}\n"))?;
    Ok(0)
}
