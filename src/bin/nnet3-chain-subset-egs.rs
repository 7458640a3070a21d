//! `nnet3-chain-subset-egs`: a random subset of chain examples.

use std::process::ExitCode;

use nnet3::egs::{chain_programs, programs};

pub fn main() -> ExitCode {
    kaldi_io::cli::run(programs::run::<chain_programs::Subset>)
}
