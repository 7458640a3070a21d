//! `nnet3-chain-subset-egs`: a random subset of chain examples.

use anyhow::Result;
use nnet3::egs::programs::{self, Subset};
use nnet3_chain::NnetChainExample;

pub fn run(options: Subset<NnetChainExample>) -> Result<u8> {
    programs::run(options)
}
