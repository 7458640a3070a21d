//! `nnet3-copy-egs`: copies examples, possibly selecting, trimming, weighting or renaming.

use anyhow::Result;
use nnet3::egs::programs;

pub fn run(options: programs::Copy) -> Result<u8> {
    programs::run(options)
}
