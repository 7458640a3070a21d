//! `nnet3-copy-egs`: copies examples, possibly selecting, trimming, weighting or renaming.

use std::process::ExitCode;

use nnet3::egs::programs;

pub fn main() -> ExitCode {
    kaldi_io::cli::run(programs::run::<programs::Copy>)
}
