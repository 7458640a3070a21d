//! The two signals of writes.

use std::sync::{Arc, Once};

use signal_hook::consts::SIGXFSZ;

/// Restores the default action of SIGPIPE, which Rust's start-up code replaces. A program with a closed reader, as in
/// `nnet3-info model | head -4`, must end silently. Programs call this before they start threads.
#[allow(unsafe_code)]
pub(crate) fn restore_sigpipe() {
    // SAFETY: SIG_DFL installs no handler, so no code of ours runs in signal context; the call touches no memory.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}

/// Makes a write beyond the largest file (`ulimit -f`) an error of the writer, which names the file, instead of a signal
/// that ends the process. Commands that are started get the default action back.
pub(crate) fn handle_sigxfsz() {
    static SIGNAL: Once = Once::new();
    // A handler is all that it takes. If there can be none, the signal ends the process, as it would anyway.
    SIGNAL.call_once(|| drop(signal_hook::flag::register(SIGXFSZ, Arc::default())));
}
