//! `nnet3-chain-subset-egs`: a random subset of chain examples.

use anyhow::Result;
use nnet3::egs::{chain_programs, programs};

pub fn run(options: chain_programs::Subset) -> Result<u8> {
    programs::run(options)
}
