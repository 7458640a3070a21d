//! `nnet3-chain-copy-egs`: copies chain examples, possibly shifting, trimming, weighting or renaming.

use anyhow::Result;
use nnet3::egs::{chain_programs, programs};

pub fn run(options: chain_programs::Copy) -> Result<u8> {
    programs::run(options)
}
