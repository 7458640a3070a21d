//! `--use-gpu` and its like.

use clap::Args;
use kaldi_io::kaldi_log;
use kaldi_io::log::Site;
use nnet3_matrix::Device;

const SITE: Site = Site::new("SelectGpuId", "cu-device.cc", 1);

/// Whether programs can use CUDA.
pub const CUDA_COMPILED: bool = false;

// Options of devices, besides `--use-gpu`, whose default differs between programs.
#[derive(Args, Clone, Debug)]
pub struct DeviceOptions {
    /// Use tensor cores (no effect on the CPU)
    #[arg(long)]
    pub cuda_use_tensor_cores: bool,
    /// Multiply in TF32 (no effect on the CPU)
    #[arg(long)]
    pub cuda_use_tf32_compute: bool,
}

/// The device that `use_gpu` (`yes`, `no`, `optional` or `wait`) means. Without CUDA support all of them mean the CPU,
/// as in the reference; a log line says so where something else was asked for.
pub fn select(use_gpu: &str) -> anyhow::Result<Device> {
    match use_gpu {
        "no" => {}
        "yes" | "optional" | "wait" => {
            kaldi_log!(
                SITE,
                "--use-gpu={use_gpu}: this program has no CUDA support yet, so it runs on the CPU"
            )
        }
        other => anyhow::bail!("--use-gpu={other}: expected yes, no, optional or wait"),
    }
    Ok(nnet3_matrix::cpu())
}
