//! `nnet3-discriminative-copy-egs`: copies discriminative examples, possibly shifting, trimming, weighting or renaming.

use anyhow::Result;
use nnet3::egs::programs::{self, Copy};
use nnet3_discriminative::NnetDiscriminativeExample;

pub fn run(options: Copy<NnetDiscriminativeExample>) -> Result<u8> {
    programs::run(options)
}
