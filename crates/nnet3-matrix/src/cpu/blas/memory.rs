//! Memory for OpenBLAS. It takes a buffer for each concurrent product, and keeps it. If it gets no memory, it tries
//! again for ever. So if memory is limited, this module requests it first.

#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of a buffer, for the kernels with the largest ones, and a reserve for other allocations.
const BUFFER: usize = (128 << 20) + (16 << 20);

/// Products that run just now.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
/// Products for which there was memory at the same time.
static FIT: AtomicUsize = AtomicUsize::new(0);

/// The right to do one product by the library. It must be kept meanwhile.
pub(super) struct Place {
    counted: bool,
}

/// `None` if the library would have no memory for a product.
pub(super) fn place() -> Option<Place> {
    if !is_limited() {
        return Some(Place { counted: false });
    }
    let running = RUNNING.fetch_add(1, Ordering::Relaxed) + 1;
    let place = Place { counted: true };
    if running > FIT.load(Ordering::Relaxed) {
        if !is_there(BUFFER) {
            return None;
        }
        FIT.fetch_max(running, Ordering::Relaxed);
    }
    Some(place)
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.counted {
            RUNNING.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// False if the library should not even be loaded: it may start a thread for each processor, each with a buffer.
pub(super) fn is_enough_to_load() -> bool {
    !is_limited() || is_there(BUFFER * (1 + std::thread::available_parallelism().map_or(1, usize::from)))
}

/// True if the system may refuse memory on request: by `ulimit -v` or `-d`, or because it does not overcommit.
fn is_limited() -> bool {
    static LIMITED: OnceLock<bool> = OnceLock::new();
    *LIMITED.get_or_init(|| {
        let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
        let promises = std::fs::read_to_string("/proc/sys/vm/overcommit_memory").unwrap_or_default();
        has_limit(&limits) || promises.trim() == "2"
    })
}

fn has_limit(limits: &str) -> bool {
    let of_memory = |line: &&str| line.starts_with("Max address space") || line.starts_with("Max data size");
    let soft = |line: &str| line.split_whitespace().nth(3).map(|value| value != "unlimited");
    limits.lines().filter(of_memory).any(|line| soft(line) == Some(true))
}

/// True if so much memory can be had.
#[cfg(unix)]
fn is_there(bytes: usize) -> bool {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: new memory at an address of the system's choice, which is returned immediately.
    unsafe {
        let address = libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0);
        address != libc::MAP_FAILED && libc::munmap(address, bytes) == 0
    }
}

#[cfg(not(unix))]
fn is_there(_bytes: usize) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_a_process() {
        let limits = |address: &str, data: &str| {
            format!(
                "Max data size             {data}            unlimited            bytes     \n\
                 Max resident set          unlimited            unlimited            bytes     \n\
                 Max address space         {address}            unlimited            bytes     \n"
            )
        };
        assert!(!has_limit(&limits("unlimited", "unlimited")) && !has_limit(""));
        assert!(has_limit(&limits("123456", "unlimited")) && has_limit(&limits("unlimited", "0")));
    }

    #[cfg(unix)]
    #[test]
    fn memory_that_can_be_had() {
        assert!(is_there(1 << 20));
        assert!(!is_there(1 << 60));
    }
}
