//! Writes `kernels/kernels.ptx`, which machines without NVRTC use. Run it after a change of the kernels.
//!
//!     pip install --target /tmp/nvrtc nvidia-cuda-nvrtc-cu12==12.1.105
//!     LD_LIBRARY_PATH=/tmp/nvrtc/nvidia/cuda_nvrtc/lib cargo run -p nnet3-matrix --example build_ptx
//!
//! The NVRTC is an old one, so that old drivers understand its output.

use nnet3_matrix::cuda::kernels::{self, PTX_CAPABILITY};
use nnet3_matrix::cuda::nvrtc::{self, Target};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (major, minor) = nvrtc::version()?;
    let ptx = nvrtc::compile(Target::Virtual(PTX_CAPABILITY))?;
    let ptx = String::from_utf8(ptx)?;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/kernels.ptx");
    let text = format!(
        "// {:016x} by NVRTC {major}.{minor}\n{}\n",
        kernels::fingerprint(),
        ptx.trim_end_matches('\0').trim()
    );
    std::fs::write(path, &text)?;
    println!("{path}: {} bytes, NVRTC {major}.{minor}", text.len());
    Ok(())
}
