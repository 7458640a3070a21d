//! CUDA devices: the engine that talks to the driver, to cuBLAS and to cuBLASLt.
//!
//! Libraries are opened before their functions are called ([`calls`]). Only functions of CUDA 11 to 13 are used.

#![allow(unsafe_code)]

mod activity;
mod blas;
mod context;
mod engine;
mod fault;
mod image;
mod lt;
mod staging;

pub use activity::{Activity, Debug};
pub use fault::Unavailable;
pub use image::Origin;

use super::GpuBackend;
use super::calls;
use super::math::GpuMath;
use crate::fault::DeviceFault;
use crate::memory::Device;
use context::Context;
use engine::Cuda;
use std::path::PathBuf;
use std::sync::Arc;

/// The device to open, and its options.
#[derive(Clone, std::fmt::Debug, Default)]
pub struct Settings {
    /// Number among the visible devices.
    pub ordinal: usize,
    pub math: GpuMath,
    /// Folder for compiled kernels; `None` compiles each time.
    pub cache: Option<PathBuf>,
    pub debug: Debug,
    /// Is told, once, why the driver would not capture work as a graph.
    pub warn: Option<fn(&str)>,
}

/// Description of an open device.
#[derive(Clone, std::fmt::Debug)]
pub struct Description {
    /// The name of the device.
    pub name: String,
    /// Major and minor compute capability.
    pub capability: (i32, i32),
    pub memory: crate::Memory,
    /// The origin of the compiled kernels.
    pub kernels: Origin,
    /// The version of cuBLAS, as 1000 × major + 100 × minor + patch.
    pub cublas: i32,
    /// The version of cuBLASLt, as 10,000 × major + 100 × minor + patch. `None` if it does not start or is switched off; then
    /// all products are cuBLAS's.
    pub cublas_lt: Option<usize>,
    /// Counts of the device's work from now on.
    pub activity: Arc<Activity>,
}

/// The number of devices that can be used.
pub fn count() -> Result<usize, Unavailable> {
    if !calls::driver::is_there() {
        return Err(Unavailable::NoDriver);
    }
    if !calls::cublas::is_there() {
        return Err(Unavailable::NoCublas);
    }
    context::count()
}

/// The device, ready for work.
pub fn open(settings: &Settings) -> Result<(Device, Description), Unavailable> {
    let count = count()?;
    if settings.ordinal >= count {
        return Err(Unavailable::NoSuchDevice { ordinal: settings.ordinal, count });
    }
    let context = Context::new(settings.ordinal)?;
    let (name, capability) = (context.name.clone(), context.capability);
    let (module, kernels) = image::load(&context, settings.cache.as_deref())?;
    let engine = Cuda::new(context, module, settings)?;
    let memory = engine.free_memory()?;
    let (cublas, cublas_lt, activity) = (engine.blas_version()?, engine.lt_version(), engine.activity());
    let backend = GpuBackend::new(engine).map_err(|fault| match fault {
        DeviceFault::Memory { free, total, .. } => {
            Unavailable::Memory { free_mib: free >> 20, total_mib: total >> 20 }
        }
        fault @ DeviceFault::Failed { .. } => Unavailable::Failed(fault),
    })?;
    Ok((Arc::new(backend), Description { name, capability, memory, kernels, cublas, cublas_lt, activity }))
}
