//! `nnet3-subset-egs`: a random subset of examples.

use std::process::ExitCode;

use nnet3::egs::programs;

fn main() -> ExitCode {
    kaldi_io::cli::run(programs::run::<programs::Subset>)
}
