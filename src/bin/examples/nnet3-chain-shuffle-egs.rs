//! `nnet3-chain-shuffle-egs`: chain examples in random order.

use anyhow::Result;
use nnet3::egs::programs::{self, Shuffle};
use nnet3_chain::NnetChainExample;

pub fn run(options: Shuffle<NnetChainExample>) -> Result<u8> {
    programs::run(options)
}
