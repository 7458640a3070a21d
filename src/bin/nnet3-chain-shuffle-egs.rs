//! `nnet3-chain-shuffle-egs`: chain examples in random order.

use std::process::ExitCode;

use nnet3::egs::{chain_programs, programs};

pub fn main() -> ExitCode {
    kaldi_io::cli::run(programs::run::<chain_programs::Shuffle>)
}
