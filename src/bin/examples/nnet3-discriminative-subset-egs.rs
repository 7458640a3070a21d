//! `nnet3-discriminative-subset-egs`: a random subset of discriminative examples.

use anyhow::Result;
use nnet3::egs::programs::{self, Subset};
use nnet3_discriminative::NnetDiscriminativeExample;

pub fn run(options: Subset<NnetDiscriminativeExample>) -> Result<u8> {
    programs::run(options)
}
