//! Files that have not got their real names yet. A program that a signal ends removes its own first.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::threads;

static FILES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn files() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes a file that is to be removed if the program does not get to renaming it.
pub(crate) fn add(file: &Path) {
    static WATCH: Once = Once::new();
    WATCH.call_once(watch);
    files().insert(file.to_owned());
}

/// The file has its real name, or is gone.
pub(crate) fn forget(file: &Path) {
    files().remove(file);
}

/// Removes all temporary files. It is called before the program ends abruptly.
pub fn remove_all() {
    // (Another thread, or this one, may be about to add a file.)
    if let Ok(mut files) = FILES.try_lock() {
        for file in std::mem::take(&mut *files) {
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Starts the thread that receives signals. It removes the files, then performs the default action of the signal.
/// Signals that the program was started to ignore stay ignored.
fn watch() {
    let ignored = ignored_signals();
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let wanted: Vec<i32> = wanted.collect();
    let (ready, registered) = sync_channel(0);
    // (Signals keep their default actions until there is a thread for them.)
    let thread = threads::start_or_return("signals", (wanted, ready), |(wanted, ready)| {
        let signals = Signals::new(wanted);
        let _ = ready.send(());
        let Ok(mut signals) = signals else { return };
        for signal in signals.forever() {
            // The lock keeps other threads from making files while the program ends.
            let mut files = files();
            for file in std::mem::take(&mut *files) {
                let _ = std::fs::remove_file(file);
            }
            let _ = emulate_default_handler(signal);
        }
    });
    if thread.is_ok() {
        let _ = registered.recv();
    }
}

/// Returns the mask of ignored signals: the lowest bit is signal 1. (Zero if the system does not tell.)
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
