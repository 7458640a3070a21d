//! `fstcopy`: copies tables of FSTs.

use anyhow::Result;
use kaldi_fst::FstHolder;
use nnet3::{messages, tables};

/// Copy tables/archives of FSTs, indexed by a string (e.g. utterance-id).
#[derive(clap::Parser)]
pub struct Options {
    fst_rspecifier: String,
    fst_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (from, to) = (&options.fst_rspecifier, &options.fst_wspecifier);
    let output = tables::map::<FstHolder, FstHolder>(from, to, |_, fst| Ok(Ok(fst)))?;
    messages::log(&format!("Copied {} FSTs.", output.done));
    output.finish()
}
