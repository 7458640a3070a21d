//! `cuda-compiled`: says by its exit status whether programs can use CUDA. Recipes ask it before they ask for a GPU.

use std::process::ExitCode;

use kaldi_io::IoError;
use nnet3::options::device::CUDA_COMPILED;

/// Exits with status 0 if the programs were built with CUDA support (all are; CUDA itself is looked for when they run),
/// and with status 1 if not. Prints nothing.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: if cuda-compiled; then echo GPU; fi")]
struct Options {}

fn run(_: Options) -> Result<u8, IoError> {
    Ok(u8::from(!CUDA_COMPILED))
}

pub fn main() -> ExitCode {
    // Not even the command line is echoed.
    if kaldi_io::cli::command_line().len() <= 1 {
        return ExitCode::from(u8::from(!CUDA_COMPILED));
    }
    kaldi_io::cli::run(run)
}
