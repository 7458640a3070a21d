//! Errors of a device.

use crate::cuda::calls::{SUCCESS, cublas, driver};
use crate::fault::DeviceFault;
use cudarc::cublas::sys::cublasStatus_t;
use cudarc::driver::sys::CUresult;

/// Reason why no device can be used.
#[derive(Debug, thiserror::Error)]
pub enum Unavailable {
    #[error("no NVIDIA driver is installed (libcuda.so was not found)")]
    NoDriver,
    #[error("the library cuBLAS was not found (libcublas.so of CUDA 11, 12 or 13, on LD_LIBRARY_PATH)")]
    NoCublas,
    #[error(
        "the NVIDIA driver is for CUDA {}.{}; one for CUDA 12.0 or later is needed", .version / 1000, .version % 1000 / 10
    )]
    OldDriver { version: i32 },
    #[error("the driver sees no GPU (CUDA_VISIBLE_DEVICES may hide them)")]
    NoDevice,
    #[error(
        "there is no GPU number {ordinal}: the driver shows {count} (CUDA_VISIBLE_DEVICES may hide some)"
    )]
    NoSuchDevice { ordinal: usize, count: usize },
    #[error("the GPU has {free_mib} MiB of {total_mib} MiB free, too few to begin with")]
    Memory { free_mib: u64, total_mib: u64 },
    #[error("the kernels cannot be loaded: {0}")]
    Kernels(String),
    #[error(transparent)]
    Driver(#[from] Fault),
    #[error(transparent)]
    Failed(DeviceFault),
}

impl Unavailable {
    /// True if waiting may help: another program has the device or its memory.
    pub fn may_pass(&self) -> bool {
        let busy = [CUresult::CUDA_ERROR_OUT_OF_MEMORY, CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE];
        match self {
            Unavailable::Memory { .. } => true,
            Unavailable::Driver(Fault::Cuda { code, .. }) => busy.map(|code| code as u32).contains(code),
            Unavailable::Driver(Fault::Blas { status, .. } | Fault::BlasStart { status, .. }) => {
                *status == cublasStatus_t::CUBLAS_STATUS_ALLOC_FAILED as u32
            }
            _ => false,
        }
    }
}

/// A call that failed.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("{call}: {text}")]
    Cuda { call: &'static str, code: u32, text: String },
    #[error(
        "the library cuBLAS does not start: {}; the driver is for CUDA {}.{}, and a library for a later one may not work \
         with it (LD_LIBRARY_PATH says which is found)", cublas::text(*.status), .driver / 1000, .driver % 1000 / 10
    )]
    BlasStart { status: u32, driver: i32 },
    #[error("{call}: {}", cublas::text(*.status))]
    Blas { call: &'static str, status: u32 },
}

/// The result of a call of the driver.
pub(super) fn cuda(call: &'static str, code: u32) -> Result<(), Fault> {
    match code {
        SUCCESS => Ok(()),
        code => Err(Fault::Cuda { call, code, text: driver::text(code) }),
    }
}

/// The result of a call of cuBLAS.
pub(super) fn blas(call: &'static str, status: u32) -> Result<(), Fault> {
    match status {
        SUCCESS => Ok(()),
        status => Err(Fault::Blas { call, status }),
    }
}
