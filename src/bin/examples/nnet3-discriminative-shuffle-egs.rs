//! `nnet3-discriminative-shuffle-egs`: discriminative examples in random order.

use anyhow::Result;
use nnet3::egs::programs::{self, Shuffle};
use nnet3_discriminative::NnetDiscriminativeExample;

pub fn run(options: Shuffle<NnetDiscriminativeExample>) -> Result<u8> {
    programs::run(options)
}
