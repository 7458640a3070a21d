//! `nnet3-chain-shuffle-egs`: chain examples in random order.

use anyhow::Result;
use nnet3::egs::{chain_programs, programs};

pub fn run(options: chain_programs::Shuffle) -> Result<u8> {
    programs::run(options)
}
