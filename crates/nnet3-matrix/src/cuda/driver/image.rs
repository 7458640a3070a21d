//! The kernels as code of a device: from the cache, from NVRTC, or from the PTX in this library.

use super::context::Context;
use super::fault::{Fault, Unavailable, cuda};
use crate::cuda::calls::driver;
use crate::cuda::kernels;
use crate::cuda::nvrtc::{self, NvrtcError, Target};
use cudarc::driver::sys::{self, CUfunction, CUmodule};
use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The origin of compiled kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Were compiled by an earlier run.
    Cache(PathBuf),
    /// NVRTC has compiled them just now.
    Compiled,
    /// PTX of this library, which the driver compiled; and why NVRTC did not.
    Embedded(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Cache(path) => write!(f, "kernels from {}", path.display()),
            Origin::Compiled => write!(f, "kernels compiled by NVRTC"),
            Origin::Embedded(why) => write!(f, "kernels from embedded PTX, since {why}"),
        }
    }
}

/// Loaded code, with its functions loaded on demand.
pub(super) struct Module {
    module: CUmodule,
    /// By name: each with the bytes of block memory that its launches may ask for.
    functions: Mutex<HashMap<&'static str, (CUfunction, u32)>>,
}

// SAFETY: handles of the driver may be used from any thread.
unsafe impl Send for Module {}
// SAFETY: as above; the table has a lock.
unsafe impl Sync for Module {}

impl Module {
    fn new(mut image: Vec<u8>) -> Result<Module, Fault> {
        use sys::CUjit_option_enum::{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
        // PTX ends with a zero; machine code does not mind one more.
        image.push(0);
        let mut log = vec![0u8; 4096];
        let mut options = [CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values: [*mut c_void; 2] =
            [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(log.len())];
        let mut module = std::ptr::null_mut();
        // SAFETY: image, log and options live during the call; the driver checks the image, and writes at most the
        // given size.
        let code = unsafe {
            driver::cuModuleLoadDataEx(
                &mut module,
                image.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        cuda("cuModuleLoadData", code).map_err(|fault| with_log(fault, &log))?;
        Ok(Module { module, functions: Mutex::default() })
    }

    /// Returns a kernel, for launches with this dynamic memory for each block.
    pub fn function(&self, name: &'static str, block_memory: u32) -> Result<CUfunction, Fault> {
        let mut functions = self.functions.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let known = functions.get(name).copied();
        if let Some((function, allowed)) = known
            && block_memory <= allowed
        {
            return Ok(function);
        }
        let mut function = std::ptr::null_mut();
        let text = CString::new(name).expect("no zeros in a kernel's name");
        // SAFETY: the module is alive; the driver looks the name up.
        cuda(name, unsafe { driver::cuModuleGetFunction(&mut function, self.module, text.as_ptr()) })?;
        if block_memory > 0 {
            let which = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function was just found; the driver checks the number.
            let code = unsafe { driver::cuFuncSetAttribute(function, which, block_memory as i32) };
            cuda("cuFuncSetAttribute", code)?;
        }
        functions.insert(name, (function, block_memory));
        Ok(function)
    }

    pub(crate) fn unload(&mut self) {
        // SAFETY: called once, after the last work has finished. Errors at the end have no effect.
        let _ = unsafe { driver::cuModuleUnload(self.module) };
    }
}

/// Adds the messages of the driver's compiler to a fault.
fn with_log(fault: Fault, log: &[u8]) -> Fault {
    let said = log.split(|&byte| byte == 0).next().unwrap_or_default().trim_ascii();
    match fault {
        Fault::Cuda { call, code, text } if !said.is_empty() => {
            Fault::Cuda { call, code, text: format!("{text}: {}", String::from_utf8_lossy(said)) }
        }
        other => other,
    }
}

pub(super) fn load(context: &Context, cache: Option<&Path>) -> Result<(Module, Origin), Unavailable> {
    let capability = 10 * context.capability.0 + context.capability.1;
    let place = cache
        .map(|folder| folder.join(format!("kernels-{:016x}-sm_{capability}.cubin", kernels::fingerprint())));
    if let Some(path) = &place
        && let Ok(image) = std::fs::read(path)
        // A damaged cache entry is compiled again.
        && let Ok(module) = Module::new(image)
    {
        return Ok((module, Origin::Cache(path.clone())));
    }
    let why = match nvrtc::compile(Target::Machine(capability)) {
        Ok(image) => match Module::new(image.clone()) {
            Ok(module) => {
                if let Some(path) = &place {
                    // The next run compiles again if this fails.
                    let _ = keep(path, &image);
                }
                return Ok((module, Origin::Compiled));
            }
            Err(e) => format!("the driver refuses the program that NVRTC compiled ({e})"),
        },
        Err(NvrtcError::Missing) => "NVRTC is not installed".to_string(),
        Err(e) => e.to_string(),
    };
    if capability < kernels::PTX_CAPABILITY {
        return Err(Unavailable::Kernels(format!(
            "the device is older than compute capability 7.0, and {why}"
        )));
    }
    match Module::new(kernels::PTX.as_bytes().to_vec()) {
        Ok(module) => Ok((module, Origin::Embedded(why))),
        Err(e) => {
            Err(Unavailable::Kernels(format!("{why}, and the driver does not take the embedded PTX ({e})")))
        }
    }
}

/// Writes a file whole or not at all.
fn keep(path: &Path, image: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    std::fs::write(&temporary, image).and_then(|()| std::fs::rename(&temporary, path)).inspect_err(|_| {
        let _ = std::fs::remove_file(&temporary);
    })
}
