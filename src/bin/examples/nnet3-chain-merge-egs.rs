//! `nnet3-chain-merge-egs`: chain examples → minibatches.

use anyhow::Result;
use nnet3::egs::programs::{self, Merge};
use nnet3_chain::NnetChainExample;

pub fn run(options: Merge<NnetChainExample>) -> Result<u8> {
    programs::run(options)
}
