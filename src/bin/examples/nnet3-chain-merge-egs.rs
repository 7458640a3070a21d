//! `nnet3-chain-merge-egs`: chain examples → minibatches.

use anyhow::Result;
use nnet3::egs::{chain_programs, programs};

pub fn run(options: chain_programs::Merge) -> Result<u8> {
    programs::run(options)
}
