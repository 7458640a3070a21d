//! Uploads beside the work. The host fills page-locked memory, and a separate stream copies it to the device while
//! kernels run. Then the stream of work moves it to its place, which takes a thousandth of the time.

use super::fault::{Fault, cuda};
use crate::cuda::calls::driver;
use cudarc::driver::sys::{self, CUevent, CUstream};
use std::ffi::c_void;

const BYTES: usize = 8 << 20;
/// Number of buffers: more than a minibatch has uploads, so that those of the next one need not wait for it to begin.
const BUFFERS: usize = 4;

/// Buffers that take turns.
pub(super) struct Staging {
    copies: CUstream,
    buffers: Vec<Buffer>,
    next: usize,
}

struct Buffer {
    host: *mut c_void,
    device: u64,
    /// Comes when the host's memory has been copied to the device's.
    copied: CUevent,
    /// Comes when the device's memory has been moved to its place.
    moved: CUevent,
}

// SAFETY: the memory belongs to this value alone; streams and events may be used from any thread.
unsafe impl Send for Staging {}

impl Buffer {
    fn empty() -> Buffer {
        let nothing = std::ptr::null_mut();
        Buffer { host: nothing, device: 0, copied: std::ptr::null_mut(), moved: std::ptr::null_mut() }
    }

    fn start(&mut self) -> Result<(), Fault> {
        let flags = sys::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING as u32;
        // SAFETY: places for a pointer, an address and events; freed by `Staging::free`.
        unsafe {
            cuda("cuMemHostAlloc", driver::cuMemHostAlloc(&mut self.host, BYTES, 0))?;
            cuda("cuMemAlloc", driver::cuMemAlloc_v2(&mut self.device, BYTES))?;
            cuda("cuEventCreate", driver::cuEventCreate(&mut self.copied, flags))?;
            cuda("cuEventCreate", driver::cuEventCreate(&mut self.moved, flags))
        }
    }

    /// Queues a copy of `part` by way of this buffer; returns when `part` has been read.
    fn send(&self, to: u64, part: &[u8], copies: CUstream, work: CUstream) -> Result<(), Fault> {
        let bytes = part.len();
        // SAFETY: an event that was never recorded counts as done. The part fits the buffers. The host's buffer is no
        // longer read, and the device's is written after it has been moved on. The caller guarantees the size of the
        // destination.
        unsafe {
            cuda("cuEventSynchronize", driver::cuEventSynchronize(self.copied))?;
            std::ptr::copy_nonoverlapping(part.as_ptr(), self.host.cast(), bytes);
            cuda("cuStreamWaitEvent", driver::cuStreamWaitEvent(copies, self.moved, 0))?;
            cuda("cuMemcpyHtoDAsync", driver::cuMemcpyHtoDAsync_v2(self.device, self.host, bytes, copies))?;
            cuda("cuEventRecord", driver::cuEventRecord(self.copied, copies))?;
            cuda("cuStreamWaitEvent", driver::cuStreamWaitEvent(work, self.copied, 0))?;
            cuda("cuMemcpyDtoDAsync", driver::cuMemcpyDtoDAsync_v2(to, self.device, bytes, work))?;
            cuda("cuEventRecord", driver::cuEventRecord(self.moved, work))
        }
    }
}

impl Staging {
    /// Allocates in the current context.
    pub fn new() -> Result<Staging, Fault> {
        let mut copies = std::ptr::null_mut();
        let flags = sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: a place for a stream; destroyed by `free`.
        cuda("cuStreamCreate", unsafe { driver::cuStreamCreate(&mut copies, flags) })?;
        let buffers = std::iter::repeat_with(Buffer::empty).take(BUFFERS).collect();
        let mut out = Staging { copies, buffers, next: 0 };
        // Callers that wait for a device try again repeatedly, so failures must not leak.
        out.buffers.iter_mut().try_for_each(Buffer::start).inspect_err(|_| out.free())?;
        Ok(out)
    }

    /// Copies `data` to the device in the order of the stream `work`; returns when `data` has been read.
    pub fn upload(&mut self, address: u64, data: &[u8], work: CUstream) -> Result<(), Fault> {
        for (k, part) in data.chunks(BYTES).enumerate() {
            let buffer = &self.buffers[self.next];
            self.next = (self.next + 1) % BUFFERS;
            buffer.send(address + (k * BYTES) as u64, part, self.copies, work)?;
        }
        Ok(())
    }

    /// Frees buffers and events. Must be called in the context, after the last work has finished.
    pub fn free(&mut self) {
        // SAFETY: called once; errors at the end have no effect.
        unsafe {
            let _ = driver::cuStreamSynchronize(self.copies);
            let _ = driver::cuStreamDestroy_v2(self.copies);
            for buffer in &self.buffers {
                for event in [buffer.copied, buffer.moved] {
                    if !event.is_null() {
                        let _ = driver::cuEventDestroy_v2(event);
                    }
                }
                if buffer.device != 0 {
                    let _ = driver::cuMemFree_v2(buffer.device);
                }
                if !buffer.host.is_null() {
                    let _ = driver::cuMemFreeHost(buffer.host);
                }
            }
        }
    }
}
