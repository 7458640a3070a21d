//! The one signal that programs care about.

/// Restores the default action of SIGPIPE, which Rust's start-up code replaces. A program with a closed reader, as in
/// `nnet3-info model | head -4`, must end silently. Programs call this before they start threads.
#[allow(unsafe_code)]
pub(crate) fn restore_sigpipe() {
    // SAFETY: SIG_DFL installs no handler, so no code of ours runs in signal context; the call touches no memory.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}
