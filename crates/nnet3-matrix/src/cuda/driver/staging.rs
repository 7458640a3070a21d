//! Uploads through page-locked memory, so that the device copies while the host goes on.

use super::fault::{Fault, cuda};
use cudarc::driver::sys::{self, CUevent, CUstream};
use std::ffi::c_void;

const BYTES: usize = 8 << 20;

/// Two buffers that take turns: one is filled while the other is copied.
pub(super) struct Staging {
    buffers: [Buffer; 2],
    next: usize,
}

struct Buffer {
    memory: *mut c_void,
    /// When the last copy from here is done.
    copied: CUevent,
}

// SAFETY: the memory belongs to this value alone, events may be used from any thread.
unsafe impl Send for Staging {}

impl Buffer {
    fn new() -> Result<Buffer, Fault> {
        let mut buffer = Buffer { memory: std::ptr::null_mut(), copied: std::ptr::null_mut() };
        // SAFETY: a place for a pointer; freed by `free`.
        cuda("cuMemHostAlloc", unsafe { sys::cuMemHostAlloc(&mut buffer.memory, BYTES, 0) })?;
        let flags = sys::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING as u32;
        // SAFETY: a place for an event; destroyed by `free`.
        cuda("cuEventCreate", unsafe { sys::cuEventCreate(&mut buffer.copied, flags) })?;
        Ok(buffer)
    }
}

impl Staging {
    /// In the current context.
    pub fn new() -> Result<Staging, Fault> {
        Ok(Staging { buffers: [Buffer::new()?, Buffer::new()?], next: 0 })
    }

    /// Copies `data` to the device in the order of the stream; returns when `data` has been read.
    pub fn upload(&mut self, address: u64, data: &[u8], stream: CUstream) -> Result<(), Fault> {
        for (k, part) in data.chunks(BYTES).enumerate() {
            let buffer = &self.buffers[self.next];
            self.next = 1 - self.next;
            let to = address + (k * BYTES) as u64;
            // SAFETY: an event that was never recorded counts as done. The part fits the buffer, which nothing reads any
            // more; the destination is as large as `data`, as the caller says.
            unsafe {
                cuda("cuEventSynchronize", sys::cuEventSynchronize(buffer.copied))?;
                std::ptr::copy_nonoverlapping(part.as_ptr(), buffer.memory.cast(), part.len());
                cuda("cuMemcpyHtoDAsync", sys::cuMemcpyHtoDAsync_v2(to, buffer.memory, part.len(), stream))?;
                cuda("cuEventRecord", sys::cuEventRecord(buffer.copied, stream))?;
            }
        }
        Ok(())
    }

    /// To be called in the context, when nothing runs any more.
    pub fn free(&mut self) {
        for buffer in &self.buffers {
            // SAFETY: called once; errors at the end change nothing.
            unsafe {
                let _ = sys::cuEventDestroy_v2(buffer.copied);
                let _ = sys::cuMemFreeHost(buffer.memory);
            }
        }
    }
}
