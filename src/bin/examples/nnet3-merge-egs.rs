//! `nnet3-merge-egs`: examples → minibatches.

use anyhow::Result;
use nnet3::egs::programs;

pub fn run(options: programs::Merge) -> Result<u8> {
    programs::run(options)
}
