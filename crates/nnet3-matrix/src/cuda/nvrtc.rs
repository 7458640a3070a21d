//! Compiles the kernels with NVRTC, if it is installed.

#![allow(unsafe_code)]

use super::calls::{SUCCESS, nvrtc};
use super::kernels;
use cudarc::nvrtc::sys::nvrtcProgram;
use std::ffi::{CString, c_char, c_int};

/// Target of the compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Machine code for a compute capability, as 90 for 9.0.
    Machine(i32),
    /// PTX that drivers compile for this compute capability and all later ones.
    Virtual(i32),
}

/// Reason why there is no compiled code.
#[derive(Debug, thiserror::Error)]
pub enum NvrtcError {
    #[error("the library NVRTC (libnvrtc.so) is not installed")]
    Missing,
    #[error("NVRTC: {0}")]
    Failed(String),
    #[error("NVRTC does not compile the kernels for {target:?}:\n{log}")]
    Compilation { target: Target, log: String },
}

pub fn present() -> bool {
    nvrtc::is_there()
}

fn check(status: u32) -> Result<(), NvrtcError> {
    match status {
        SUCCESS => Ok(()),
        status => Err(NvrtcError::Failed(nvrtc::text(status))),
    }
}

fn require() -> Result<(), NvrtcError> {
    if present() { Ok(()) } else { Err(NvrtcError::Missing) }
}

/// Major and minor version.
pub fn version() -> Result<(i32, i32), NvrtcError> {
    require()?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both are places for a number.
    check(unsafe { nvrtc::nvrtcVersion(&mut major, &mut minor) })?;
    Ok((major, minor))
}

/// Compute capabilities that it compiles for, ascending.
pub fn supported() -> Result<Vec<i32>, NvrtcError> {
    require()?;
    let mut count: c_int = 0;
    // SAFETY: a place for a number.
    check(unsafe { nvrtc::nvrtcGetNumSupportedArchs(&mut count) })?;
    let mut out = vec![0; count as usize];
    // SAFETY: the buffer has the length that NVRTC has just returned.
    check(unsafe { nvrtc::nvrtcGetSupportedArchs(out.as_mut_ptr()) })?;
    Ok(out)
}

/// A program of NVRTC, destroyed when dropped.
struct Program(nvrtcProgram);

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: made by `nvrtcCreateProgram` and no longer used. An error cannot be handled here.
        let _ = unsafe { nvrtc::nvrtcDestroyProgram(&mut self.0) };
    }
}

/// The kernels as machine code or PTX.
pub fn compile(target: Target) -> Result<Vec<u8>, NvrtcError> {
    compile_program(&kernels::program(), target)
}

/// Any program, as [`compile`] does the kernels.
pub fn compile_program(text: &str, target: Target) -> Result<Vec<u8>, NvrtcError> {
    require()?;
    let text = CString::new(text)
        .map_err(|_| NvrtcError::Failed("the source of the kernels has a zero byte".to_string()))?;
    let mut program = Program(std::ptr::null_mut());
    // SAFETY: the strings live during the call; there are no headers.
    check(unsafe {
        nvrtc::nvrtcCreateProgram(
            &mut program.0,
            text.as_ptr(),
            c"kernels.cu".as_ptr(),
            0,
            std::ptr::null(),
            std::ptr::null(),
        )
    })?;
    let architecture = match target {
        Target::Machine(capability) => format!("--gpu-architecture=sm_{capability}"),
        Target::Virtual(capability) => format!("--gpu-architecture=compute_{capability}"),
    };
    let architecture = CString::new(architecture).expect("no zeros");
    let mut options: Vec<*const c_char> = kernels::OPTIONS.iter().map(|option| option.as_ptr()).collect();
    options.push(architecture.as_ptr());
    // SAFETY: the program was made above, the options live during the call.
    let status = unsafe { nvrtc::nvrtcCompileProgram(program.0, options.len() as c_int, options.as_ptr()) };
    if status != SUCCESS {
        let log = read(&program, nvrtc::nvrtcGetProgramLogSize, nvrtc::nvrtcGetProgramLog)?;
        let log = String::from_utf8_lossy(&log).trim_end_matches(['\0', '\n']).to_string();
        return Err(NvrtcError::Compilation { target, log });
    }
    match target {
        Target::Machine(_) => read(&program, nvrtc::nvrtcGetCUBINSize, nvrtc::nvrtcGetCUBIN),
        Target::Virtual(_) => read(&program, nvrtc::nvrtcGetPTXSize, nvrtc::nvrtcGetPTX),
    }
}

type Size = unsafe fn(nvrtcProgram, *mut usize) -> u32;
type Get = unsafe fn(nvrtcProgram, *mut c_char) -> u32;

fn read(program: &Program, size: Size, get: Get) -> Result<Vec<u8>, NvrtcError> {
    let mut len = 0;
    // SAFETY: the program is alive; a place for a number.
    check(unsafe { size(program.0, &mut len) })?;
    let mut out = vec![0; len];
    // SAFETY: the buffer has the size that NVRTC has just returned.
    check(unsafe { get(program.0, out.as_mut_ptr().cast()) })?;
    Ok(out)
}
