//! `nnet3-subset-egs`: a random subset of examples.

use anyhow::Result;
use nnet3::egs::programs::{self, Subset};
use nnet3_train::NnetExample;

pub fn run(options: Subset<NnetExample>) -> Result<u8> {
    programs::run(options)
}
