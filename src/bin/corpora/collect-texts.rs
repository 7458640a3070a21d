//! `collect-texts`: texts of many recordings → one text, and a table of results.

#![cfg(feature = "sound")]

use anyhow::Result;
use kaldi_cli::StandardOutput;
use kaldi_corpus::many::{Folder, table};

/// Join the texts of recordings in the order of their list, and print a table of recordings without a text or with warnings.
///
/// The folder is that of name-recordings. It gets text (but not for subtitles and TextGrids, which begin anew), failed (name and path of
/// recordings without a text), warnings (name, path and warnings of recordings with a text) and results.tsv (name, result, words,
/// file, reason). The reason is that of a missing text, or the warnings about a recording with a text. Reasons come from the logs
/// log/try*.log, which name the links of batch-recordings, and warnings also from the table of earlier calls.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: collect-texts out txt batches\nSee also: name-recordings, batch-recordings")]
pub struct Options {
    #[arg(value_name = "dir")]
    folder: String,
    suffix: String,
    batches: String,
}

pub fn run(options: Options) -> Result<u8> {
    let folder = Folder::new(&options.folder, &options.suffix);
    StandardOutput::print(table(&folder.collect(options.batches.as_ref())?))?;
    Ok(0)
}
