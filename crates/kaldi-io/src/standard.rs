//! Standard input and output of the process, as files.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::host::host;

/// Tells the process that the reader of its standard output or standard error has gone, if this is the error of it:
/// `program | head`. A command that stops reading is an error instead.
pub fn unread(e: io::Error) -> io::Error {
    if e.kind() == io::ErrorKind::BrokenPipe {
        host().output_is_unread();
    }
    e
}

/// Fails if there is no standard output.
pub fn check_output() -> io::Result<()> {
    if host().lacks_output() {
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
