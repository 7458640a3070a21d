//! Standard input and output of the process.

use std::io::{self, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{IoError, Result};

/// True if standard output was closed at the start of the program. Rust's start-up code opens `/dev/null` in its place,
/// so all output would be lost.
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

/// Standard output for text, the same as `-` is for objects.
pub struct StandardOutput(StdoutLock<'static>);

impl StandardOutput {
    /// Fails if it is closed.
    pub fn open() -> Result<StandardOutput> {
        let name = "standard output".to_owned();
        check_output().map_err(|source| IoError::Open { name, source })?;
        Ok(StandardOutput(io::stdout().lock()))
    }
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(named)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(named)
    }
}

fn named(e: io::Error) -> io::Error {
    if e.kind() == io::ErrorKind::Interrupted {
        e
    } else {
        io::Error::new(e.kind(), format!("standard output: {e}"))
    }
}

/// Fails if there is no standard output.
pub(crate) fn check_output() -> io::Result<()> {
    if NO_OUTPUT.load(Ordering::Relaxed) {
        return Err(io::Error::other("it is closed"));
    }
    Ok(())
}

/// Reserves standard input. The second call is an error: the first reader would read ahead, and leave no data to the
/// other.
pub(crate) fn take_input() -> io::Result<()> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(io::Error::other("it is read already; only one of the inputs can be '-'"));
    }
    Ok(())
}
