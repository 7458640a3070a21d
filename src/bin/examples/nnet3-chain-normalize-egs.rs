//! `nnet3-chain-normalize-egs`: chain examples with the costs of the normalization FST.

use anyhow::Result;
use nnet3::egs::{chain_programs, programs};

pub fn run(options: chain_programs::Normalize) -> Result<u8> {
    programs::run(options)
}
