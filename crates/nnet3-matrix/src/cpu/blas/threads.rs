//! On loading, OpenBLAS starts a thread for every processor; these threads spin for a while. Here products have one
//! thread unless a program asks for more, which OpenBLAS then starts.

#![allow(unsafe_code)]

use std::env;

/// Variable with the number of threads that OpenBLAS starts; OpenBLAS reads it on loading.
const VARIABLE: &str = "OPENBLAS_NUM_THREADS";

/// Calls `load`. If that loads OpenBLAS, it starts no threads. Exceptions: the environment gives a number, or this
/// process has several threads and so must not change its environment.
pub(super) fn without_new_threads<R>(load: impl FnOnce() -> R) -> R {
    if env::var_os(VARIABLE).is_some() || !is_only_thread() {
        return load();
    }
    // SAFETY: no other thread could read the environment meanwhile.
    unsafe { env::set_var(VARIABLE, "1") };
    let loaded = load();
    if is_only_thread() {
        // SAFETY: as above.
        unsafe { env::remove_var(VARIABLE) };
    }
    loaded
}

/// False if it is not known.
fn is_only_thread() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1)
}
