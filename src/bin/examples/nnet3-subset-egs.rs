//! `nnet3-subset-egs`: a random subset of examples.

use anyhow::Result;
use nnet3::egs::programs;

pub fn run(options: programs::Subset) -> Result<u8> {
    programs::run(options)
}
