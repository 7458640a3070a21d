//! OpenBLAS starts a thread for every processor when it is loaded, which then spin for a while. Products here have one thread
//! unless a program asks for more, which OpenBLAS starts when it is told so.

#![allow(unsafe_code)]

use std::env;

/// How many threads OpenBLAS starts; it looks at it when it is loaded.
const VARIABLE: &str = "OPENBLAS_NUM_THREADS";

/// What `load` gives. If that loads OpenBLAS, it starts no threads, unless the environment says how many, or this process has
/// several threads already and so must not change its environment.
pub(super) fn without_new_threads<R>(load: impl FnOnce() -> R) -> R {
    if env::var_os(VARIABLE).is_some() || !is_only_thread() {
        return load();
    }
    // SAFETY: there is no other thread that could look at the environment meanwhile.
    unsafe { env::set_var(VARIABLE, "1") };
    let loaded = load();
    if is_only_thread() {
        // SAFETY: as above.
        unsafe { env::remove_var(VARIABLE) };
    }
    loaded
}

/// False where it is not known.
fn is_only_thread() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1)
}
