//! The one signal that programs care about.

/// Gives SIGPIPE its default action back, which Rust's start-up code replaces: a program whose reader has gone, as in
/// `nnet3-info model | head -4`, must end silently. Programs call this before they start threads.
#[allow(unsafe_code)]
pub(crate) fn restore_sigpipe() {
    // SAFETY: SIG_DFL installs no handler, so no code of ours runs in signal context; the call touches no memory.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}
