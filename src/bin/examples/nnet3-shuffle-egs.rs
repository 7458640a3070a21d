//! `nnet3-shuffle-egs`: examples in random order.

use anyhow::Result;
use nnet3::egs::programs;

pub fn run(options: programs::Shuffle) -> Result<u8> {
    programs::run(options)
}
