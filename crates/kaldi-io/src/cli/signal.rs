//! The two signals of writes.

use std::sync::{Arc, Once};

use signal_hook::consts::SIGXFSZ;

use std::sync::atomic::{AtomicBool, Ordering};

/// True in programs, false in libraries.
static IS_PROGRAM: AtomicBool = AtomicBool::new(false);

/// From now on the process ends by SIGPIPE if the reader of its standard output or standard error has closed it, as in
/// `nnet3-info model | head -4`. The signal itself stays ignored, as Rust's start-up code has it: a write to a command
/// that has ended is an error, which names the command, and ends no process.
pub(crate) fn end_by_sigpipe() {
    IS_PROGRAM.store(true, Ordering::Relaxed);
}

pub(crate) fn ends_by_sigpipe() -> bool {
    IS_PROGRAM.load(Ordering::Relaxed)
}

/// Makes a write beyond the largest file (`ulimit -f`) an error of the writer, which names the file, instead of a signal
/// that ends the process. Commands that are started get the default action back.
pub(crate) fn handle_sigxfsz() {
    static SIGNAL: Once = Once::new();
    // A handler is all that it takes. If there can be none, the signal ends the process, as it would anyway.
    SIGNAL.call_once(|| drop(signal_hook::flag::register(SIGXFSZ, Arc::default())));
}
