//! `nnet3-chain-copy-egs`: copies chain examples, possibly shifting, trimming, weighting or renaming.

use anyhow::Result;
use nnet3::egs::programs::{self, Copy};
use nnet3_chain::NnetChainExample;

pub fn run(options: Copy<NnetChainExample>) -> Result<u8> {
    programs::run(options)
}
