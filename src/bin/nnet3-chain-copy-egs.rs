//! `nnet3-chain-copy-egs`: copies chain examples, possibly shifting, trimming, weighting or renaming.

use std::process::ExitCode;

use nnet3::egs::{chain_programs, programs};

pub fn main() -> ExitCode {
    kaldi_io::cli::run(programs::run::<chain_programs::Copy>)
}
