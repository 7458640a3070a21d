//! `nnet3-copy-egs`: copies examples, possibly selecting, trimming, weighting or renaming.

use anyhow::Result;
use nnet3::egs::programs::{self, Copy};
use nnet3_train::NnetExample;

pub fn run(options: Copy<NnetExample>) -> Result<u8> {
    programs::run(options)
}
