//! What can go wrong with a device.

use cudarc::cublas::sys::cublasStatus_t;
use cudarc::driver::sys::{self, CUresult};
use std::ffi::CStr;

/// Why no device can be used.
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
}

impl Unavailable {
    /// Whether waiting may help: another program has the device or its memory.
    pub fn may_pass(&self) -> bool {
        let busy = |code: CUresult| {
            matches!(code, CUresult::CUDA_ERROR_OUT_OF_MEMORY | CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE)
        };
        match self {
            Unavailable::Memory { .. } => true,
            Unavailable::Driver(Fault::Cuda { code, .. }) => busy(*code),
            Unavailable::Driver(Fault::Blas { status, .. } | Fault::BlasStart { status, .. }) => {
                *status == cublasStatus_t::CUBLAS_STATUS_ALLOC_FAILED
            }
            _ => false,
        }
    }
}

/// A call that failed.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("{call}: {text}")]
    Cuda { call: &'static str, code: CUresult, text: String },
    #[error(
        "the library cuBLAS does not start: {status:?}; the driver is for CUDA {}.{}, and a library for a later one may not work \
         with it (LD_LIBRARY_PATH says which is found)", .driver / 1000, .driver % 1000 / 10
    )]
    BlasStart { status: cublasStatus_t, driver: i32 },
    #[error("{call}: {status:?}")]
    Blas { call: &'static str, status: cublasStatus_t },
}

/// The result of a call of the driver.
pub(super) fn cuda(call: &'static str, code: CUresult) -> Result<(), Fault> {
    if code == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let mut text = std::ptr::null();
    // SAFETY: sets a pointer to a constant string, or fails and leaves it null.
    let known =
        unsafe { sys::cuGetErrorString(code, &mut text) } == CUresult::CUDA_SUCCESS && !text.is_null();
    let text = match known {
        // SAFETY: a constant string, as just found.
        true => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
        false => format!("{code:?}"),
    };
    Err(Fault::Cuda { call, code, text })
}

/// The result of a call of cuBLAS.
pub(super) fn blas(call: &'static str, status: cublasStatus_t) -> Result<(), Fault> {
    match status {
        cublasStatus_t::CUBLAS_STATUS_SUCCESS => Ok(()),
        status => Err(Fault::Blas { call, status }),
    }
}
