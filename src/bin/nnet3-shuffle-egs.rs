//! `nnet3-shuffle-egs`: examples in random order.

use std::process::ExitCode;

use nnet3::egs::programs;

pub fn main() -> ExitCode {
    kaldi_io::cli::run(programs::run::<programs::Shuffle>)
}
