//! `nnet3-shuffle-egs`: examples in random order.

use anyhow::Result;
use nnet3::egs::programs::{self, Shuffle};
use nnet3_train::NnetExample;

pub fn run(options: Shuffle<NnetExample>) -> Result<u8> {
    programs::run(options)
}
