//! `select-long-recordings`: those of checked recordings that have features.

#![cfg(feature = "sound")]

use anyhow::Result;
use kaldi_aligner::long::recognised::keep_those_with_features;
use nnet3::messages;

/// Leave out recordings without features in a folder that check-long-recordings has written, with a warning for each.
///
/// The numbers of frames are those of feat-to-len.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: feat-to-len scp:work/feats.scp ark,t:work/lengths\n      \
    select-long-recordings work/lengths work\nSee also: check-long-recordings")]
pub struct Options {
    #[arg(value_name = "lengths")]
    lengths: String,
    #[arg(value_name = "dir")]
    folder: String,
}

pub fn run(options: Options) -> Result<u8> {
    keep_those_with_features(&options.lengths, &options.folder, &mut messages::warn)?;
    Ok(0)
}
