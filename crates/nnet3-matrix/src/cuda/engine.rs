//! The interface of a device for [`super::GpuBackend`]: memory, transfers, and running [`Op`]s in order.
//!
//! The CUDA driver implements it. Two others do so without a GPU: a twin that compiles the same kernels for the CPU,
//! and the recorder of the tests. After the first error of any method the queue makes no more calls
//! ([`super::Queue`]).

use super::math::GpuMath;
use super::op::Op;
use crate::backend::Memory;
use crate::fault::DeviceFault;

/// The result of a call of a device.
pub type Outcome<T = ()> = Result<T, DeviceFault>;

/// One device with one stream of work. Work is done in the order of the calls; only calls that read wait for it.
pub trait Engine: Send + Sync + 'static {
    /// A list of [`Op`]s that can be run with one call.
    type Graph: Send;

    /// The device's own name.
    fn name(&self) -> &str;
    /// Returns the memory of the device, if known.
    fn memory(&self) -> Option<Memory>;
    /// The arithmetic of products, and the memory between layers.
    fn math(&self) -> GpuMath {
        GpuMath::default()
    }
    /// Dynamic memory that a launch may give each block, in bytes, besides the kernel's own arrays of at most 8 KiB.
    fn block_memory(&self) -> u32 {
        0
    }
    /// `bytes` zeroed bytes, at least one, aligned to at least 64.
    fn allocate(&self, bytes: u64) -> Outcome<u64>;
    /// Frees memory from [`Engine::allocate`]; work that uses it has been run before.
    fn free(&self, address: u64, bytes: u64) -> Outcome;
    /// Copies to the device; `data` may change when this returns.
    fn upload(&self, address: u64, data: &[u8]) -> Outcome;
    /// Copies to the host when all earlier work is done.
    fn download(&self, address: u64, out: &mut [u8]) -> Outcome;
    /// Runs one piece of work.
    fn run(&self, op: &Op) -> Outcome;
    /// Makes a graph of this work without running it; `None` if the device cannot.
    fn capture(&self, ops: &[Op]) -> Option<Self::Graph>;
    /// Runs a captured graph.
    fn replay(&self, graph: &Self::Graph) -> Outcome;
    /// Waits until all work is done.
    fn synchronize(&self) -> Outcome;
}
