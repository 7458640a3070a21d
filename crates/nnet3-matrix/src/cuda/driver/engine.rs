//! [`Engine`] by the CUDA driver.

use super::Settings;
use super::activity::{Activity, Debug};
use super::blas::Blas;
use super::context::Context;
use super::fault::{Fault, cuda};
use super::image::Module;
use super::lt::Lt;
use super::staging::Staging;
use crate::backend::Memory;
use crate::cuda::calls::{cublaslt, driver};
use crate::cuda::engine::{Engine, Outcome};
use crate::cuda::math::GpuMath;
use crate::cuda::op::{Launch, Op, Product};
use crate::fault::DeviceFault;
use cudarc::driver::sys::{self, CUgraph, CUgraphExec, CUresult};
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex};

/// A device with one stream. After a failed call the driver's context is unusable; the queue then makes no more calls.
pub(super) struct Cuda {
    blas: Blas,
    /// `None` if the library is missing or switched off.
    lt: Option<Lt>,
    staging: Mutex<Staging>,
    module: Module,
    math: GpuMath,
    debug: Debug,
    warn: Option<fn(&str)>,
    activity: Arc<Activity>,
    /// Is dropped last.
    context: ManuallyDrop<Context>,
}

impl Cuda {
    pub fn new(context: Context, module: Module, settings: &Settings) -> Result<Cuda, Fault> {
        let mut blas = Blas::new(context.stream, settings.math)?;
        let staging = Mutex::new(Staging::new().inspect_err(|_| blas.free())?);
        let (debug, warn, activity) = (settings.debug, settings.warn, Arc::default());
        let open = || Lt::new(context.stream, settings.math, blas.workspace(), context.multiprocessors);
        let lt = if debug.no_lt { None } else { open() };
        let (math, context) = (settings.math, ManuallyDrop::new(context));
        Ok(Cuda { blas, lt, staging, module, math, debug, warn, activity, context })
    }

    pub(crate) fn blas_version(&self) -> Result<i32, Fault> {
        self.context.enter()?;
        self.blas.version()
    }

    /// The version of cuBLASLt; `None` if all products are cuBLAS's.
    pub(crate) fn lt_version(&self) -> Option<usize> {
        self.lt.as_ref().and_then(|_| cublaslt::version())
    }

    pub(crate) fn activity(&self) -> Arc<Activity> {
        self.activity.clone()
    }

    pub(crate) fn free_memory(&self) -> Result<Memory, Fault> {
        let (mut free, mut total) = (0, 0);
        self.context.enter()?;
        // SAFETY: places for numbers.
        cuda("cuMemGetInfo", unsafe { driver::cuMemGetInfo_v2(&mut free, &mut total) })?;
        Ok(Memory { free: free as u64, total: total as u64 })
    }

    fn issue(&self, op: &Op) -> Result<(), Fault> {
        match op {
            Op::Launch(launch) => self.launch(launch),
            Op::Product(product) => self.multiply(product),
        }
    }

    /// Chooses how the products of this work are computed. Must come before the work is issued.
    fn prepare(&self, ops: &[Op]) {
        if let Some(lt) = &self.lt {
            lt.prepare(ops);
        }
    }

    /// A product by cuBLASLt, if it has an algorithm, else by cuBLAS, which has no biases.
    fn multiply(&self, product: &Product) -> Result<(), Fault> {
        if let Some(lt) = &self.lt
            && lt.multiply(product)?
        {
            return Ok(());
        }
        if let Some((rows, rest)) = product.in_two_steps() {
            self.launch(&rows)?;
            return self.multiply(&rest);
        }
        if self.lt.is_some() {
            self.activity.note_unplanned();
        }
        self.blas.multiply(product)
    }

    fn launch(&self, launch: &Launch) -> Result<(), Fault> {
        let function = self.module.function(launch.kernel, launch.block_memory)?;
        let mut args: Vec<*mut c_void> =
            launch.args().map(|(_, words)| words.as_ptr().cast_mut().cast()).collect();
        let ([across, down], [block_across, block_down]) = (launch.grid, launch.block);
        // SAFETY: the arguments are of the kernel's types (tests on the twin compare signatures) and live during the
        // call, which copies them. Memory they name lives until the queue has been emptied.
        let code = unsafe {
            driver::cuLaunchKernel(
                function,
                across,
                down,
                1,
                block_across,
                block_down,
                1,
                launch.block_memory,
                self.context.stream,
                args.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        cuda(launch.kernel, code)
    }

    fn try_allocate(&self, bytes: u64) -> Result<u64, Fault> {
        let mut address = 0;
        // SAFETY: a place for an address; freed by `Engine::free`.
        cuda("cuMemAlloc", unsafe { driver::cuMemAlloc_v2(&mut address, bytes as usize) })?;
        // SAFETY: just allocated.
        cuda("cuMemsetD8", unsafe {
            driver::cuMemsetD8Async(address, 0, bytes as usize, self.context.stream)
        })?;
        Ok(address)
    }

    /// The operations as a graph of the driver, which is not run.
    fn record(&self, ops: &[Op]) -> Result<Graph, Fault> {
        self.prepare(ops);
        let mode = sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is alive.
        cuda("cuStreamBeginCapture", unsafe { driver::cuStreamBeginCapture_v2(self.context.stream, mode) })?;
        let issued = ops.iter().try_for_each(|op| self.issue(op));
        let mut graph: CUgraph = std::ptr::null_mut();
        // SAFETY: a place for a graph. Must follow even after a failure.
        let ended = cuda("cuStreamEndCapture", unsafe {
            driver::cuStreamEndCapture(self.context.stream, &mut graph)
        });
        let made = issued.and(ended).and_then(|()| {
            let mut executable: CUgraphExec = std::ptr::null_mut();
            // SAFETY: a place for a graph; destroyed when dropped.
            let code = unsafe { driver::cuGraphInstantiateWithFlags(&mut executable, graph, 0) };
            cuda("cuGraphInstantiate", code).map(|()| Graph(executable))
        });
        if !graph.is_null() {
            // SAFETY: the executable graph does not need it. An error cannot be handled here.
            let _ = unsafe { driver::cuGraphDestroy(graph) };
        }
        made
    }
}

/// A graph of the driver, ready to run.
pub(super) struct Graph(CUgraphExec);

// SAFETY: handles of the driver may be used from any thread.
unsafe impl Send for Graph {}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: no longer used; a running graph is destroyed when it ends. An error cannot be handled here.
        let _ = unsafe { driver::cuGraphExecDestroy(self.0) };
    }
}

/// Makes the failure of a device, with the operation that failed.
fn during<T>(what: impl ToString, result: Result<T, Fault>) -> Outcome<T> {
    result.map_err(|fault| DeviceFault::Failed { during: what.to_string(), message: fault.to_string() })
}

/// The name of a piece of work for people.
fn name(op: &Op) -> String {
    match op {
        Op::Launch(launch) => format!("the kernel {}", launch.kernel),
        Op::Product(p) => format!("a product of {} x {} and {} x {}", p.a.rows, p.a.cols, p.b.rows, p.b.cols),
    }
}

impl Engine for Cuda {
    type Graph = Graph;

    fn name(&self) -> &str {
        &self.context.name
    }

    fn memory(&self) -> Option<Memory> {
        self.free_memory().ok()
    }

    fn math(&self) -> GpuMath {
        self.math
    }

    fn block_memory(&self) -> u32 {
        self.context.block_memory
    }

    fn allocate(&self, bytes: u64) -> Outcome<u64> {
        match self.context.enter().and_then(|()| self.try_allocate(bytes)) {
            Err(Fault::Cuda { code, .. }) if code == CUresult::CUDA_ERROR_OUT_OF_MEMORY as u32 => {
                let Memory { free, total } = self.free_memory().unwrap_or(Memory { free: 0, total: 0 });
                Err(DeviceFault::Memory { bytes, free, total })
            }
            other => during("an allocation", other),
        }
    }

    fn free(&self, address: u64, _bytes: u64) -> Outcome {
        // SAFETY: came from `allocate`, and all work that uses it is done.
        let free = || cuda("cuMemFree", unsafe { driver::cuMemFree_v2(address) });
        let ready = self.context.enter().and_then(|()| self.context.synchronize());
        during("work before memory is given back", ready.and_then(|()| free()))
    }

    fn upload(&self, address: u64, data: &[u8]) -> Outcome {
        let mut staging = self.staging.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let upload = |()| staging.upload(address, data, self.context.stream);
        during("a copy to the device", self.context.enter().and_then(upload))
    }

    fn download(&self, address: u64, out: &mut [u8]) -> Outcome {
        let copy = |()| {
            // SAFETY: the caller guarantees that the source is as long as `out`; `out` is not touched before the stream
            // is done.
            let code = unsafe {
                driver::cuMemcpyDtoHAsync_v2(out.as_mut_ptr().cast(), address, out.len(), self.context.stream)
            };
            cuda("cuMemcpyDtoH", code)?;
            self.context.synchronize()
        };
        during("work before a copy to the host", self.context.enter().and_then(copy))
    }

    fn run(&self, op: &Op) -> Outcome {
        self.activity.note_single();
        let issue = |()| {
            self.prepare(std::slice::from_ref(op));
            self.issue(op)
        };
        let issued = self.context.enter().and_then(issue);
        let done = match self.debug.synchronous {
            true => issued.and_then(|()| self.context.synchronize()),
            false => issued,
        };
        done.or_else(|fault| during(name(op), Err(fault)))
    }

    fn capture(&self, ops: &[Op]) -> Option<Graph> {
        if self.debug.no_graphs || self.debug.synchronous {
            return None;
        }
        match self.context.enter().and_then(|()| self.record(ops)) {
            Ok(graph) => {
                self.activity.note_capture();
                Some(graph)
            }
            Err(fault) => {
                if self.activity.note_refusal()
                    && let Some(warn) = self.warn
                {
                    warn(&format!(
                        "work is sent call by call, since the driver does not capture it: {fault}"
                    ));
                }
                None
            }
        }
    }

    fn replay(&self, graph: &Graph) -> Outcome {
        self.activity.note_replay();
        // SAFETY: the graph is alive; its memory lives until the queue has been emptied.
        let launch =
            |()| cuda("cuGraphLaunch", unsafe { driver::cuGraphLaunch(graph.0, self.context.stream) });
        during("the launch of a graph", self.context.enter().and_then(launch))
    }

    fn synchronize(&self) -> Outcome {
        during("work so far", self.context.enter().and_then(|()| self.context.synchronize()))
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // An error here has been reported by the work that caused it.
        let _ = self.context.enter().and_then(|()| self.context.synchronize());
        if let Some(lt) = self.lt.take() {
            lt.free();
        }
        self.blas.free();
        self.staging.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner()).free();
        self.module.unload();
        // SAFETY: not used afterwards.
        unsafe { ManuallyDrop::drop(&mut self.context) }
    }
}
