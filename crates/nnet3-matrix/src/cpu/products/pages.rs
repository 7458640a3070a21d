//! Memory of the host: aligned to cache lines, and large matrices on large pages if the system has them.
//!
//! A matrix product walks down columns, and a page of 4 KiB is one row of 1024 elements. With such pages, the processor
//! looks up an address for every few elements, and twice in a virtual machine.

#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};

/// Cache line, and enough for any vector instruction.
pub(in crate::cpu) const ALIGNMENT: usize = 64;
/// A large page of x86-64, and of AArch64 with small pages of 4 KiB. It affects only speed.
const LARGE_PAGE: usize = 2 << 20;

/// The size and alignment of `len` elements. A large matrix gets whole large pages, if they make it at most a quarter
/// larger.
fn layout(len: usize) -> Layout {
    let bytes = len.checked_mul(size_of::<f32>()).expect("size overflow");
    let rounded = bytes.checked_next_multiple_of(LARGE_PAGE).expect("size overflow");
    let (bytes, alignment) =
        if rounded - bytes <= bytes / 4 { (rounded, LARGE_PAGE) } else { (bytes, ALIGNMENT) };
    Layout::from_size_align(bytes, alignment).expect("size overflow")
}

/// Asks for large pages, before the first use of the memory. A system without them refuses.
fn advise(pointer: *mut u8, bytes: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: the advice is about memory that the caller owns, changes no values and may be refused.
    unsafe {
        libc::madvise(pointer.cast(), bytes, libc::MADV_HUGEPAGE);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (pointer, bytes);
}

/// Implements [`crate::backend::Storage::allocate`].
pub(in crate::cpu) fn allocate(len: usize) -> *mut f32 {
    if len == 0 {
        return std::ptr::without_provenance_mut(ALIGNMENT);
    }
    let layout = layout(len);
    let pointer = if layout.align() == LARGE_PAGE {
        // SAFETY: the layout's size is not zero.
        let pointer = unsafe { alloc(layout) };
        if !pointer.is_null() {
            advise(pointer, layout.size());
            // SAFETY: these bytes have just been allocated.
            unsafe { pointer.write_bytes(0, layout.size()) }
        }
        pointer
    } else {
        // SAFETY: the layout's size is not zero.
        unsafe { alloc_zeroed(layout) }
    };
    let mib = (len * 4) >> 20;
    assert!(!pointer.is_null(), "no memory left for a matrix of {len} elements ({mib} MiB)");
    pointer.cast()
}

/// # Safety
/// `pointer` came from [`allocate`] with the same `len` and is not used afterwards.
pub(in crate::cpu) unsafe fn free(pointer: *mut f32, len: usize) {
    if len != 0 {
        // SAFETY: by this function's contract, `allocate` gave this pointer for the same layout.
        unsafe { dealloc(pointer.cast(), layout(len)) }
    }
}
