//! `nnet3-subset-egs`: a random subset of examples.

use std::process::ExitCode;

use nnet3::egs::programs;

pub fn main() -> ExitCode {
    kaldi_io::cli::run(programs::run::<programs::Subset>)
}
