//! Copies a network, changing it on the way.

use std::process::ExitCode;

use nnet3::models::Copy;

pub fn main() -> ExitCode {
    kaldi_io::cli::run(Copy::run)
}
