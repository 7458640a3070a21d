//! `nnet3-discriminative-merge-egs`: discriminative examples → minibatches.

use anyhow::Result;
use nnet3::egs::programs::{self, Merge};
use nnet3_discriminative::NnetDiscriminativeExample;

pub fn run(options: Merge<NnetDiscriminativeExample>) -> Result<u8> {
    programs::run(options)
}
