//! Standard input and output of the process.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Standard output was closed when the program was started. (Rust's start-up code opens `/dev/null` in its place, where
/// everything would disappear.)
static NO_OUTPUT: AtomicBool = AtomicBool::new(false);

/// Runs before Rust's start-up code.
#[cfg(target_os = "linux")]
#[ctor::ctor(unsafe)]
fn look_at_standard_output() {
    use std::os::fd::AsFd;
    if rustix::io::fcntl_getfd(io::stdout().as_fd()).is_err() {
        NO_OUTPUT.store(true, Ordering::Relaxed);
    }
}

/// An error if there is no standard output.
pub(crate) fn check_output() -> io::Result<()> {
    if NO_OUTPUT.load(Ordering::Relaxed) {
        return Err(io::Error::other("it is closed"));
    }
    Ok(())
}

/// An error the second time: what comes first would read ahead, and leave nothing to the other.
pub(crate) fn take_input() -> io::Result<()> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(io::Error::other("it is read already; only one of the inputs can be '-'"));
    }
    Ok(())
}
