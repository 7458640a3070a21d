//! Copies an acoustic model, changing it on the way.

use std::process::ExitCode;

use nnet3::models::AmCopy;

pub fn main() -> ExitCode {
    kaldi_io::cli::run(AmCopy::run)
}
