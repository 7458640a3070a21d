//! `feats-to-windows`: features of long recordings → windows that overlap.

#![cfg(feature = "sound")]

use anyhow::Result;
use kaldi_aligner::long::recognised::windows;

use crate::corpora::long::WindowOption;

/// Write a table of windows of features, which overlap by a sixth.
///
/// The key of a window is that of its features, @ and its first frame; its features are a range of rows. Frames are 10 ms apart.
/// The last window of a recording is not shorter than half a window, unless it is the only one. The numbers of frames are those
/// of feat-to-len.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: feats-to-windows --window=30 feats.scp lengths windows.scp\nSee also: cut-long-recordings"
)]
pub struct Options {
    #[command(flatten)]
    window: WindowOption,
    #[arg(value_name = "feats.scp")]
    feats: String,
    #[arg(value_name = "lengths")]
    lengths: String,
    #[arg(value_name = "windows-out")]
    to: String,
}

pub fn run(options: Options) -> Result<u8> {
    windows(options.window.seconds()?, &options.feats, &options.lengths, &options.to)?;
    Ok(0)
}
