//! `nnet3-chain-normalize-egs`: chain examples with the costs of the normalization FST.

use std::process::ExitCode;

use nnet3::egs::{chain_programs, programs};

pub fn main() -> ExitCode {
    kaldi_io::cli::run(programs::run::<chain_programs::Normalize>)
}
