//! `cuda-gpu-available`: exits with a status that tells if programs can use a GPU.

use anyhow::Result;
use nnet3::messages;
use nnet3::options::device::{first_gpu, has_driver, is_gpu_required};

/// Exits with status 0 if there is a GPU that the programs can use. The status is 1 without an NVIDIA driver (see
/// cuda-compiled), and 255 if there is no GPU or it does not work.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: if cuda-gpu-available; then gpu=yes; else gpu=no; fi\nSee also: cuda-compiled")]
pub struct Options {}

pub fn run(_: Options) -> Result<u8> {
    if !has_driver() && !is_gpu_required() {
        messages::log("there is no NVIDIA driver; programs run on the CPU");
        return Ok(1);
    }
    first_gpu()?;
    messages::log("there is a GPU");
    Ok(0)
}
