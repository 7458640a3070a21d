//! The process around the library.
//!
//! A program (`kaldi-cli`) sets a [`Host`] of its own, with its name, its terminal and its signals. In a process that only
//! loads the library, warnings are plain lines on standard error, and no signal ends the process.

use std::io::{self, Write};
use std::process::Stdio;
use std::sync::OnceLock;

use crate::log::{self, Site};

/// Status of a program that failed.
pub const FAILED: u8 = 255;

/// The answers of a process to events of the library.
pub trait Host: Sync {
    /// Prints a warning.
    fn warning(&self, site: &Site, message: &str) {
        // An error cannot be reported if standard error is closed.
        let _ = io::stderr().lock().write_all(log::line("WARNING", "", site, message).as_bytes());
    }

    /// Returns the line of an error that ends the process.
    fn error_line(&self, message: &str) -> String {
        log::line("ERROR", "", &Site::PROGRAM, message)
    }

    /// Makes a standard error for a command. `None` if the command may use that of the process.
    fn stderr_of_command(&self) -> Option<Stdio> {
        None
    }

    /// Returns true if the process was started without standard output.
    fn lacks_output(&self) -> bool {
        false
    }

    /// Called if the reader of standard output has closed it. If it returns, the write fails.
    fn output_is_unread(&self) {}
}

/// The host of a process that has set none.
struct Library;

impl Host for Library {}

static HOST: OnceLock<&'static dyn Host> = OnceLock::new();

/// Sets the host. Only the first call counts.
pub fn set(host: &'static dyn Host) {
    let _ = HOST.set(host);
}

/// Returns the host.
pub(crate) fn host() -> &'static dyn Host {
    HOST.get().copied().unwrap_or(&Library)
}
