//! `cuda-compiled`: exits with a status that tells if programs can use CUDA. Recipes call it before they use a GPU.

use std::process::ExitCode;

use anyhow::Result;
use nnet3::options::device::cuda_compiled;

/// Exits with status 0 if the programs behave as if built with CUDA support, which they do if the NVIDIA driver is installed.
/// Otherwise the status is 1, and --use-gpu=yes runs on the CPU. With NNET3_GPU=optional in the environment the status is 0 on
/// any machine, and all programs take --use-gpu=yes and --use-gpu=wait for optional. With NNET3_REQUIRE_GPU=1 the status is 0,
/// too, and --use-gpu=yes needs a GPU. Prints nothing.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: if cuda-compiled; then echo GPU; fi\nor: NNET3_GPU=optional ./run.sh")]
pub struct Options {}

pub fn run(_: Options) -> Result<u8> {
    Ok(u8::from(!cuda_compiled()?))
}

pub fn main() -> ExitCode {
    // Not even the command line is echoed.
    if kaldi_cli::command_line().len() <= 1
        && let Ok(compiled) = cuda_compiled()
    {
        return ExitCode::from(u8::from(!compiled));
    }
    kaldi_cli::run(run)
}
