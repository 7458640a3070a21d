//! `check-long-recordings`: long recordings with transcripts, checked before they are recognised.

#![cfg(feature = "sound")]

use anyhow::Result;
use kaldi_aligner::long::recognised::check;
use nnet3::messages;

/// Check long recordings and their transcripts, before they are recognised and cut into utterances.
///
/// The data folder has wav.scp, text with the transcript of each whole recording, and maybe utt2spk. The output folder gets
/// recordings (keys), wav.scp, transcripts, and text: the transcripts without words that words.txt lacks. The first recording
/// that cannot be used is an error: one with two lines, without a source of sound, without a transcript, or with one without known words.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: check-long-recordings --skip-bad=true data/lectures data/lang/words.txt work\nSee also: feats-to-windows, cut-long-recordings"
)]
pub struct Options {
    /// Leave out recordings that cannot be used, with a warning for each
    #[arg(long)]
    skip_bad: bool,
    #[arg(value_name = "data-dir")]
    data: String,
    #[arg(value_name = "words.txt")]
    words: String,
    #[arg(value_name = "out-dir")]
    to: String,
}

pub fn run(options: Options) -> Result<u8> {
    check(&options.data, &options.words, &options.to, options.skip_bad, &mut messages::warn)?;
    Ok(0)
}
