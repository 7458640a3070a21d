//! `nnet3-merge-egs`: examples → minibatches.

use anyhow::Result;
use nnet3::egs::programs::{self, Merge};
use nnet3_train::NnetExample;

pub fn run(options: Merge<NnetExample>) -> Result<u8> {
    programs::run(options)
}
