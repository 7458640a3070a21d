//! A device's context and its one stream of work.

use super::fault::{Fault, Unavailable, cuda};
use crate::cuda::calls::driver;
use cudarc::driver::sys::{self, CUcontext, CUdevice, CUresult, CUstream};
use std::ffi::CStr;

/// The oldest driver that can be used: older ones lack functions that are called here, or take no PTX of this library.
const OLDEST_DRIVER: i32 = 12000;

/// Largest number of bytes of `__shared__` arrays in kernels with additional dynamic memory for each block.
const KERNELS_OWN: u32 = 8192;

/// The version of CUDA that the driver is for, as 1000 × major + 10 × minor.
pub(super) fn driver_version() -> Result<i32, Fault> {
    let mut version = 0;
    // SAFETY: a place for a number; the driver need not be initialised.
    cuda("cuDriverGetVersion", unsafe { driver::cuDriverGetVersion(&mut version) })?;
    Ok(version)
}

fn initialise() -> Result<(), Unavailable> {
    let version = driver_version()?;
    if version < OLDEST_DRIVER {
        return Err(Unavailable::OldDriver { version });
    }
    // SAFETY: may be called any number of times.
    match unsafe { driver::cuInit(0) } {
        code if code == CUresult::CUDA_ERROR_NO_DEVICE as u32 => Err(Unavailable::NoDevice),
        code => Ok(cuda("cuInit", code)?),
    }
}

pub(super) fn count() -> Result<usize, Unavailable> {
    initialise()?;
    let mut count = 0;
    // SAFETY: a place for a number.
    cuda("cuDeviceGetCount", unsafe { driver::cuDeviceGetCount(&mut count) })?;
    if count == 0 { Err(Unavailable::NoDevice) } else { Ok(count as usize) }
}

/// The device's primary context, which others of the process (cuBLAS) share.
pub(super) struct Context {
    device: CUdevice,
    context: CUcontext,
    pub stream: CUstream,
    pub name: String,
    pub capability: (i32, i32),
    /// Dynamic memory that a launch may give a block, in bytes.
    pub block_memory: u32,
    pub multiprocessors: u32,
}

// SAFETY: handles of the driver may be used from any thread; calls make the context the thread's own first.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    pub fn new(ordinal: usize) -> Result<Context, Unavailable> {
        initialise()?;
        let mut device = 0;
        // SAFETY: a place for a device; the number is checked by the callee.
        cuda("cuDeviceGet", unsafe { driver::cuDeviceGet(&mut device, ordinal as i32) })?;
        let mut name = [0; 256];
        // SAFETY: the callee writes at most that many bytes, a zero among them.
        cuda("cuDeviceGetName", unsafe {
            driver::cuDeviceGetName(name.as_mut_ptr(), name.len() as i32, device)
        })?;
        // SAFETY: ends with a zero, as just written.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
        use sys::CUdevice_attribute_enum as Attribute;
        let attribute = |which| {
            let mut value = 0;
            // SAFETY: a place for a number.
            cuda("cuDeviceGetAttribute", unsafe { driver::cuDeviceGetAttribute(&mut value, which, device) })
                .map(|()| value)
        };
        let capability = (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        );
        let most = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let block_memory = (most as u32).saturating_sub(KERNELS_OWN);
        let multiprocessors = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32;
        let mut context = std::ptr::null_mut();
        // SAFETY: released when dropped.
        cuda("cuDevicePrimaryCtxRetain", unsafe { driver::cuDevicePrimaryCtxRetain(&mut context, device) })?;
        let stream = std::ptr::null_mut();
        let mut out = Context { device, context, stream, name, capability, block_memory, multiprocessors };
        out.enter()?;
        let flags = sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: a place for a stream; the context is current.
        cuda("cuStreamCreate", unsafe { driver::cuStreamCreate(&mut out.stream, flags) })?;
        Ok(out)
    }

    /// Makes this the calling thread's context.
    pub fn enter(&self) -> Result<(), Fault> {
        // SAFETY: the context is alive until this is dropped.
        cuda("cuCtxSetCurrent", unsafe { driver::cuCtxSetCurrent(self.context) })
    }

    pub fn synchronize(&self) -> Result<(), Fault> {
        // SAFETY: the stream is alive.
        cuda("cuStreamSynchronize", unsafe { driver::cuStreamSynchronize(self.stream) })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is no longer used. Errors at the end have no effect.
        unsafe {
            if !self.stream.is_null() {
                let _ = driver::cuStreamDestroy_v2(self.stream);
            }
            let _ = driver::cuDevicePrimaryCtxRelease_v2(self.device);
        }
    }
}
