//! `nnet3-chain-merge-egs`: chain examples → minibatches.

use std::process::ExitCode;

use nnet3::egs::{chain_programs, programs};

pub fn main() -> ExitCode {
    kaldi_io::cli::run(programs::run::<chain_programs::Merge>)
}
