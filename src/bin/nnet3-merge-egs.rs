//! `nnet3-merge-egs`: examples → minibatches.

use std::process::ExitCode;

use nnet3::egs::programs;

pub fn main() -> ExitCode {
    kaldi_io::cli::run(programs::run::<programs::Merge>)
}
