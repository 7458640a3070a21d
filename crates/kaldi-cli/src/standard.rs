//! Standard output of programs.

#![allow(clippy::disallowed_methods)] // Others write through `StandardOutput`.

use std::io::{self, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use kaldi_io::standard::{check_output, unread};
use kaldi_io::{IoError, Result};

/// True if standard output was closed at the start of the program. Rust's start-up code opens `/dev/null` in its place,
/// so all output would be lost.
static NO_OUTPUT: AtomicBool = AtomicBool::new(false);

/// True if the process was started without standard output.
pub(crate) fn lacks_output() -> bool {
    NO_OUTPUT.load(Ordering::Relaxed)
}

/// Runs before Rust's start-up code. Libraries do not have this crate, so a process that loads them runs no such function.
#[cfg(target_os = "linux")]
#[ctor::ctor(unsafe)]
fn look_at_standard_output() {
    use std::os::fd::AsFd;
    if rustix::io::fcntl_getfd(io::stdout().as_fd()).is_err() {
        NO_OUTPUT.store(true, Ordering::Relaxed);
    }
}

/// Standard output for text, the same as `-` is for objects. All text of programs is written through it, so that no text
/// is lost without an error.
pub struct StandardOutput(StdoutLock<'static>);

impl StandardOutput {
    /// Fails if it is closed.
    pub fn open() -> Result<StandardOutput> {
        Self::check()?;
        Ok(StandardOutput(io::stdout().lock()))
    }

    /// Fails as [`open`](Self::open) does. Programs that print at the end of a long run call it at the start.
    pub fn check() -> Result<()> {
        let name = "standard output".to_owned();
        check_output().map_err(|source| IoError::Open { name, source })
    }

    /// Writes a text, whole.
    pub fn print(text: impl AsRef<[u8]>) -> Result<()> {
        let mut out = Self::open()?;
        let written = out.0.write_all(text.as_ref()).and_then(|()| out.0.flush()).map_err(unread);
        written.map_err(|source| IoError::Io { name: "standard output".to_owned(), source })
    }
}

/// Writes the text that is left in the buffer of standard output, at the end of a program.
pub(crate) fn flush_output() -> io::Result<()> {
    io::stdout().lock().flush().map_err(named)
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
    let e = unread(e);
    if e.kind() == io::ErrorKind::Interrupted {
        e
    } else {
        io::Error::new(e.kind(), format!("standard output: {e}"))
    }
}
