//! `text-to-pieces`: transcripts → overlapping pieces.

#![cfg(feature = "sound")]

use anyhow::Result;
use kaldi_aligner::long::recognised::pieces_of_transcript;

/// Write overlapping pieces of transcripts, one a line, for a language model that may begin anywhere in them.
///
/// A piece has twelve words, and begins four words behind the one before. Lines of the text begin with a key.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: text-to-pieces text sentences\nSee also: make-arpa, check-long-recordings")]
pub struct Options {
    text: String,
    #[arg(value_name = "sentences-out")]
    to: String,
}

pub fn run(options: Options) -> Result<u8> {
    pieces_of_transcript(&options.text, &options.to)?;
    Ok(0)
}
