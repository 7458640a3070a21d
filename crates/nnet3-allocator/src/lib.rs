//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! One binary holds all programs, and they need different allocators. Programs that handle examples allocate thousands
//! of small objects in one thread, and free them in another. mimalloc is best for these. The other programs are faster
//! with the system's allocator, which starts half a millisecond faster.
//!
//! If memory runs out, a handler of the program is called; Rust itself would abort.

#![allow(unsafe_code)]

pub mod counting;

pub use counting::CountingAllocator;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU8, Ordering};

use mimalloc::MiMalloc;

/// Asks the allocator that suits the program, which is chosen at the first allocation and never changes.
pub struct ProgramAllocator {
    choice: AtomicU8,
    /// True if a process with this name and first argument handles examples.
    handles_examples: fn(&[u8], &[u8]) -> bool,
    /// Receives the size in bytes of a block that could not be allocated.
    no_memory: fn(usize),
}

/// Blocks of at least this size are compared with the machine's memory, because mimalloc reserves addresses without
/// memory behind them.
const LARGE: usize = 1 << 30;

const OPEN: u8 = 0;
const SYSTEM: u8 = 1;
const MIMALLOC: u8 = 2;

impl ProgramAllocator {
    /// Makes an allocator. `handles_examples` gets the process's name without folders and its first argument. It must
    /// not allocate. `no_memory` gets the size of a block that could not be allocated; if it returns, the allocator
    /// returns null.
    pub const fn new(handles_examples: fn(&[u8], &[u8]) -> bool, no_memory: fn(usize)) -> ProgramAllocator {
        ProgramAllocator { choice: AtomicU8::new(OPEN), handles_examples, no_memory }
    }

    /// Returns a block of `size` bytes from `get`. If it is null, the program is informed.
    #[inline]
    fn granted(&self, size: usize, get: impl FnOnce() -> *mut u8) -> *mut u8 {
        let pointer = if size >= LARGE && size > machine_memory() { std::ptr::null_mut() } else { get() };
        if pointer.is_null() {
            (self.no_memory)(size);
        }
        pointer
    }

    #[inline]
    fn uses_mimalloc(&self) -> bool {
        match self.choice.load(Ordering::Relaxed) {
            SYSTEM => false,
            MIMALLOC => true,
            _ => self.choose(),
        }
    }

    #[cold]
    fn choose(&self) -> bool {
        let name = argument(0).rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        let mimalloc = (self.handles_examples)(name, argument(1));
        self.choice.store(if mimalloc { MIMALLOC } else { SYSTEM }, Ordering::Relaxed);
        mimalloc
    }
}

/// Returns argument `number` of the process; 0 is the name by which it was called. Empty if there is no such argument,
/// or if the C library does not pass arguments before `main`.
fn argument(number: usize) -> &'static [u8] {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let arguments = arguments::FIRST.load(Ordering::Relaxed);
        if number < arguments::COUNT.load(Ordering::Relaxed) {
            // SAFETY: the C library's array has `COUNT` pointers. Each points to a string that lives as long as the
            // process. This project does not change them.
            return unsafe { std::ffi::CStr::from_ptr(*arguments.add(number)) }.to_bytes();
        }
    }
    let _ = number;
    b""
}

/// Arguments of the process, for code that must not allocate to get them.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod arguments {
    use std::ptr::null_mut;
    use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

    use libc::{c_char, c_int};

    pub(crate) static FIRST: AtomicPtr<*const c_char> = AtomicPtr::new(null_mut());
    pub static COUNT: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn remember(count: c_int, first: *mut *const c_char) {
        FIRST.store(first, Ordering::Relaxed);
        COUNT.store(usize::try_from(count).unwrap_or(0), Ordering::Relaxed);
    }

    /// glibc calls these functions with the arguments, in the order of the sections' numbers. This function runs before
    /// all other code that runs before `main`.
    // SAFETY: the section consists of pointers to functions of this type, and the function accesses only its own
    // variables.
    #[used]
    #[unsafe(link_section = ".init_array.00098")]
    static BEFORE_MAIN: extern "C" fn(c_int, *mut *const c_char) = remember;
}

/// From now on the process ends without the functions that libraries have registered for its end: mimalloc's need
/// memory, and crash or wait for ever without it. Rust's own output has been written before these functions run. If the
/// environment asks for mimalloc's statistics, which it prints there, all stays as it was.
pub fn end_without_libraries() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if std::env::var_os("MIMALLOC_SHOW_STATS").is_none() {
        unsafe extern "C" {
            /// glibc's `atexit`, whose functions get the status.
            fn on_exit(
                end: extern "C" fn(libc::c_int, *mut libc::c_void),
                argument: *mut libc::c_void,
            ) -> libc::c_int;
        }
        extern "C" fn end(status: libc::c_int, _: *mut libc::c_void) {
            // SAFETY: ends the process.
            unsafe { libc::_exit(status) }
        }
        // SAFETY: the C library keeps the pointer to the function, which lives as long as the process. The functions are
        // called from the last that was registered to the first.
        unsafe { on_exit(end, std::ptr::null_mut()) };
    }
}

/// Ends the process at once, as [`end_without_libraries`] does, and without Rust's own end.
pub fn end_now(status: u8) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(i32::from(status)) }
}

/// Total memory of the machine in bytes, used or not.
#[cold]
fn machine_memory() -> usize {
    // SAFETY: the call reads two numbers of the system and touches no memory of ours.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    match (usize::try_from(pages), usize::try_from(size)) {
        (Ok(pages), Ok(size)) => pages.saturating_mul(size),
        _ => usize::MAX,
    }
}

// SAFETY: all calls go to one allocator, the same from the first call to the last (threads that choose at the same time
// choose the same), and both keep the trait's contract.
unsafe impl GlobalAlloc for ProgramAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of this method, and the called method has the same contract.
        self.granted(layout.size(), || unsafe {
            if self.uses_mimalloc() { MiMalloc.alloc(layout) } else { System.alloc(layout) }
        })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        self.granted(layout.size(), || unsafe {
            if self.uses_mimalloc() { MiMalloc.alloc_zeroed(layout) } else { System.alloc_zeroed(layout) }
        })
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as in `alloc`; the block came from the same allocator.
        unsafe {
            if self.uses_mimalloc() {
                MiMalloc.dealloc(pointer, layout)
            } else {
                System.dealloc(pointer, layout)
            }
        }
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as in `dealloc`.
        self.granted(new_size, || unsafe {
            if self.uses_mimalloc() {
                MiMalloc.realloc(pointer, layout, new_size)
            } else {
                System.realloc(pointer, layout, new_size)
            }
        })
    }
}
