//! Functions of NVIDIA's libraries. Here they return their status as a number.
//!
//! `cudarc` declares a status as an enum; a new number of a later library would be an invalid value. The compiler
//! compares each function's arguments with the declaration in `cudarc`. A library is opened on first use, and stays
//! open.

#![allow(unsafe_code)]

use libloading::Library;
use std::ffi::{CStr, c_char};

/// The status of a call that has succeeded.
pub(super) const SUCCESS: u32 = 0;
/// The status for a missing function. No library returns it.
const NO_FUNCTION: u32 = u32::MAX;

/// Opens the library, under the first of NVIDIA's names that the system finds.
fn open(name: &str) -> Option<Library> {
    // SAFETY: NVIDIA's libraries have no harmful initialisers.
    cudarc::get_lib_name_candidates(name).into_iter().find_map(|file| unsafe { Library::new(file) }.ok())
}

/// Describes an error. `text` is the library's text for the status.
fn describe(status: u32, text: Option<*const c_char>) -> String {
    match text {
        _ if status == NO_FUNCTION => "the installed library has no such function".to_owned(),
        // SAFETY: the libraries' texts are constants that end with a zero.
        Some(text) if !text.is_null() => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
        _ => format!("status {status}"),
    }
}

macro_rules! library {
    ($name:literal, $status:ty, $($function:ident($($argument:ident: $type:ty),*);)*) => {
        fn library() -> Option<&'static Library> {
            static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
            LIBRARY.get_or_init(|| open($name)).as_ref()
        }

        /// True if the library is available.
        pub fn is_there() -> bool {
            library().is_some()
        }

        $(
            /// # Safety
            /// The conditions in NVIDIA's documentation of the function.
            #[allow(non_upper_case_globals)]
            pub const $function: unsafe fn($($type),*) -> u32 = |$($argument),*| {
                // `cudarc` declares these arguments.
                const _: unsafe fn($($type),*) -> $status = sys::$function;
                type Function = unsafe extern "C" fn($($type),*) -> u32;
                static FUNCTION: OnceLock<Option<Function>> = OnceLock::new();
                let function = FUNCTION.get_or_init(|| {
                    // SAFETY: the library's function of this name has these arguments, and a status of 32 bits.
                    unsafe { library()?.get::<Function>(stringify!($function)) }.ok().map(|function| *function)
                });
                match function {
                    // SAFETY: the caller meets the function's requirements.
                    Some(function) => unsafe { function($($argument),*) },
                    None => NO_FUNCTION,
                }
            };
        )*
    };
}

/// The driver, which comes with the device's kernel module.
pub(super) mod driver {
    use super::{NO_FUNCTION, SUCCESS, describe, open};
    use cudarc::driver::sys;
    use libloading::Library;
    use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};
    use std::sync::OnceLock;

    library! {
        "cuda", sys::CUresult,
        cuCtxSetCurrent(a: sys::CUcontext);
        cuDeviceGet(a: *mut sys::CUdevice, b: c_int);
        cuDeviceGetAttribute(a: *mut c_int, b: sys::CUdevice_attribute, c: sys::CUdevice);
        cuDeviceGetCount(a: *mut c_int);
        cuDeviceGetName(a: *mut c_char, b: c_int, c: sys::CUdevice);
        cuDevicePrimaryCtxRelease_v2(a: sys::CUdevice);
        cuDevicePrimaryCtxRetain(a: *mut sys::CUcontext, b: sys::CUdevice);
        cuDriverGetVersion(a: *mut c_int);
        cuEventCreate(a: *mut sys::CUevent, b: c_uint);
        cuEventDestroy_v2(a: sys::CUevent);
        cuEventRecord(a: sys::CUevent, b: sys::CUstream);
        cuEventSynchronize(a: sys::CUevent);
        cuFuncSetAttribute(a: sys::CUfunction, b: sys::CUfunction_attribute, c: c_int);
        cuGraphDestroy(a: sys::CUgraph);
        cuGraphExecDestroy(a: sys::CUgraphExec);
        cuGraphInstantiateWithFlags(a: *mut sys::CUgraphExec, b: sys::CUgraph, c: c_ulonglong);
        cuGraphLaunch(a: sys::CUgraphExec, b: sys::CUstream);
        cuInit(a: c_uint);
        cuLaunchKernel(a: sys::CUfunction, b: c_uint, c: c_uint, d: c_uint, e: c_uint, f: c_uint, g: c_uint, h: c_uint, i: sys::CUstream, j: *mut *mut c_void, k: *mut *mut c_void);
        cuMemAlloc_v2(a: *mut sys::CUdeviceptr, b: usize);
        cuMemFreeHost(a: *mut c_void);
        cuMemFree_v2(a: sys::CUdeviceptr);
        cuMemGetInfo_v2(a: *mut usize, b: *mut usize);
        cuMemHostAlloc(a: *mut *mut c_void, b: usize, c: c_uint);
        cuMemcpyDtoDAsync_v2(a: sys::CUdeviceptr, b: sys::CUdeviceptr, c: usize, d: sys::CUstream);
        cuMemcpyDtoHAsync_v2(a: *mut c_void, b: sys::CUdeviceptr, c: usize, d: sys::CUstream);
        cuMemcpyHtoDAsync_v2(a: sys::CUdeviceptr, b: *const c_void, c: usize, d: sys::CUstream);
        cuMemsetD8Async(a: sys::CUdeviceptr, b: c_uchar, c: usize, d: sys::CUstream);
        cuModuleGetFunction(a: *mut sys::CUfunction, b: sys::CUmodule, c: *const c_char);
        cuModuleLoadDataEx(a: *mut sys::CUmodule, b: *const c_void, c: c_uint, d: *mut sys::CUjit_option, e: *mut *mut c_void);
        cuModuleUnload(a: sys::CUmodule);
        cuStreamBeginCapture_v2(a: sys::CUstream, b: sys::CUstreamCaptureMode);
        cuStreamCreate(a: *mut sys::CUstream, b: c_uint);
        cuStreamDestroy_v2(a: sys::CUstream);
        cuStreamEndCapture(a: sys::CUstream, b: *mut sys::CUgraph);
        cuStreamSynchronize(a: sys::CUstream);
        cuStreamWaitEvent(a: sys::CUstream, b: sys::CUevent, c: c_uint);
    }

    /// The driver's text for a status.
    pub fn text(status: u32) -> String {
        type Function = unsafe extern "C" fn(u32, *mut *const c_char) -> u32;
        // SAFETY: the library's function of this name has these arguments.
        let function =
            library().and_then(|library| unsafe { library.get::<Function>("cuGetErrorString") }.ok());
        let mut text = std::ptr::null();
        // SAFETY: sets the pointer to a constant string, or fails and leaves it.
        let known = function.is_some_and(|function| unsafe { function(status, &mut text) } == SUCCESS);
        describe(status, known.then_some(text))
    }
}

pub(super) mod cublas {
    use super::{NO_FUNCTION, describe, open};
    use cudarc::cublas::sys;
    use libloading::Library;
    use std::ffi::{c_char, c_int, c_longlong, c_void};
    use std::sync::OnceLock;

    library! {
        "cublas", sys::cublasStatus_t,
        cublasCreate_v2(a: *mut sys::cublasHandle_t);
        cublasDestroy_v2(a: sys::cublasHandle_t);
        cublasGemmEx(a: sys::cublasHandle_t, b: sys::cublasOperation_t, c: sys::cublasOperation_t, d: c_int, e: c_int, f: c_int, g: *const c_void, h: *const c_void, i: sys::cudaDataType, j: c_int, k: *const c_void, l: sys::cudaDataType, m: c_int, n: *const c_void, o: *mut c_void, p: sys::cudaDataType, q: c_int, r: sys::cublasComputeType_t, s: sys::cublasGemmAlgo_t);
        cublasGemmStridedBatchedEx(a: sys::cublasHandle_t, b: sys::cublasOperation_t, c: sys::cublasOperation_t, d: c_int, e: c_int, f: c_int, g: *const c_void, h: *const c_void, i: sys::cudaDataType, j: c_int, k: c_longlong, l: *const c_void, m: sys::cudaDataType, n: c_int, o: c_longlong, p: *const c_void, q: *mut c_void, r: sys::cudaDataType, s: c_int, t: c_longlong, u: c_int, v: sys::cublasComputeType_t, w: sys::cublasGemmAlgo_t);
        cublasGetVersion_v2(a: sys::cublasHandle_t, b: *mut c_int);
        cublasSetStream_v2(a: sys::cublasHandle_t, b: sys::cudaStream_t);
        cublasSetWorkspace_v2(a: sys::cublasHandle_t, b: *mut c_void, c: usize);
    }

    /// The library's name of a status.
    pub fn text(status: u32) -> String {
        type Function = unsafe extern "C" fn(u32) -> *const c_char;
        // SAFETY: the library's function of this name has this argument. Versions before 11.4 have none.
        let function =
            library().and_then(|library| unsafe { library.get::<Function>("cublasGetStatusName") }.ok());
        // SAFETY: returns a constant string for any number.
        describe(status, function.map(|function| unsafe { function(status) }))
    }
}

/// Products with biases and chosen algorithms. A part of cuBLAS, in a file of its own.
pub(super) mod cublaslt {
    use super::{NO_FUNCTION, open};
    use cudarc::cublaslt::sys;
    use libloading::Library;
    use std::ffi::{c_int, c_void};
    use std::sync::OnceLock;

    library! {
        "cublasLt", sys::cublasStatus_t,
        cublasLtCreate(a: *mut sys::cublasLtHandle_t);
        cublasLtDestroy(a: sys::cublasLtHandle_t);
        cublasLtMatmul(a: sys::cublasLtHandle_t, b: sys::cublasLtMatmulDesc_t, c: *const c_void, d: *const c_void, e: sys::cublasLtMatrixLayout_t, f: *const c_void, g: sys::cublasLtMatrixLayout_t, h: *const c_void, i: *const c_void, j: sys::cublasLtMatrixLayout_t, k: *mut c_void, l: sys::cublasLtMatrixLayout_t, m: *const sys::cublasLtMatmulAlgo_t, n: *mut c_void, o: usize, p: sys::cudaStream_t);
        cublasLtMatmulAlgoGetHeuristic(a: sys::cublasLtHandle_t, b: sys::cublasLtMatmulDesc_t, c: sys::cublasLtMatrixLayout_t, d: sys::cublasLtMatrixLayout_t, e: sys::cublasLtMatrixLayout_t, f: sys::cublasLtMatrixLayout_t, g: sys::cublasLtMatmulPreference_t, h: c_int, i: *mut sys::cublasLtMatmulHeuristicResult_t, j: *mut c_int);
        cublasLtMatmulDescCreate(a: *mut sys::cublasLtMatmulDesc_t, b: sys::cublasComputeType_t, c: sys::cudaDataType_t);
        cublasLtMatmulDescDestroy(a: sys::cublasLtMatmulDesc_t);
        cublasLtMatmulDescSetAttribute(a: sys::cublasLtMatmulDesc_t, b: sys::cublasLtMatmulDescAttributes_t, c: *const c_void, d: usize);
        cublasLtMatmulPreferenceCreate(a: *mut sys::cublasLtMatmulPreference_t);
        cublasLtMatmulPreferenceDestroy(a: sys::cublasLtMatmulPreference_t);
        cublasLtMatmulPreferenceSetAttribute(a: sys::cublasLtMatmulPreference_t, b: sys::cublasLtMatmulPreferenceAttributes_t, c: *const c_void, d: usize);
        cublasLtMatrixLayoutCreate(a: *mut sys::cublasLtMatrixLayout_t, b: sys::cudaDataType_t, c: u64, d: u64, e: i64);
        cublasLtMatrixLayoutDestroy(a: sys::cublasLtMatrixLayout_t);
        cublasLtMatrixLayoutSetAttribute(a: sys::cublasLtMatrixLayout_t, b: sys::cublasLtMatrixLayoutAttribute_t, c: *const c_void, d: usize);
    }

    /// The version, as 10,000 × major + 100 × minor + patch. `None` without the library.
    pub fn version() -> Option<usize> {
        const _: unsafe fn() -> usize = sys::cublasLtGetVersion;
        // SAFETY: the library's function of this name has no arguments, and returns a number.
        unsafe { Some(library()?.get::<unsafe extern "C" fn() -> usize>("cublasLtGetVersion").ok()?()) }
    }
}

pub(super) mod nvrtc {
    use super::{NO_FUNCTION, describe, open};
    use cudarc::nvrtc::sys;
    use libloading::Library;
    use std::ffi::{c_char, c_int};
    use std::sync::OnceLock;

    library! {
        "nvrtc", sys::nvrtcResult,
        nvrtcCompileProgram(a: sys::nvrtcProgram, b: c_int, c: *const *const c_char);
        nvrtcCreateProgram(a: *mut sys::nvrtcProgram, b: *const c_char, c: *const c_char, d: c_int, e: *const *const c_char, f: *const *const c_char);
        nvrtcDestroyProgram(a: *mut sys::nvrtcProgram);
        nvrtcGetCUBIN(a: sys::nvrtcProgram, b: *mut c_char);
        nvrtcGetCUBINSize(a: sys::nvrtcProgram, b: *mut usize);
        nvrtcGetNumSupportedArchs(a: *mut c_int);
        nvrtcGetPTX(a: sys::nvrtcProgram, b: *mut c_char);
        nvrtcGetPTXSize(a: sys::nvrtcProgram, b: *mut usize);
        nvrtcGetProgramLog(a: sys::nvrtcProgram, b: *mut c_char);
        nvrtcGetProgramLogSize(a: sys::nvrtcProgram, b: *mut usize);
        nvrtcGetSupportedArchs(a: *mut c_int);
        nvrtcVersion(a: *mut c_int, b: *mut c_int);
    }

    /// The library's text for a status.
    pub fn text(status: u32) -> String {
        type Function = unsafe extern "C" fn(u32) -> *const c_char;
        // SAFETY: the library's function of this name has this argument.
        let function =
            library().and_then(|library| unsafe { library.get::<Function>("nvrtcGetErrorString") }.ok());
        // SAFETY: returns a constant string for any number.
        describe(status, function.map(|function| unsafe { function(status) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_that_nobody_knows_has_a_text() {
        assert_eq!(describe(12345, None), "status 12345");
        assert_eq!(describe(12345, Some(std::ptr::null())), "status 12345");
        assert_eq!(describe(7, Some(c"too few blocks".as_ptr())), "too few blocks");
        assert_eq!(describe(NO_FUNCTION, None), "the installed library has no such function");
    }
}
