//! `nnet3-chain-normalize-egs`: chain examples with the costs of the normalization FST.

use anyhow::Result;
use nnet3::egs::{kinds, programs};

pub fn run(options: kinds::Normalize) -> Result<u8> {
    programs::run(options)
}
