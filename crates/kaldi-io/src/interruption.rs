//! The signal that asks a program to end, for programs that write what they have before they end.
//!
//! After [`defer`], the first SIGINT, SIGTERM or SIGHUP is only noted. The program asks for it with [`received`], writes its
//! results, and ends. Standard input and commands that are read end at once, so that no read waits for ever. A second signal ends
//! the process as it would have done without all this.
//!
//! A program that writes nothing then may have a [`farewell`].

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::log::{self, Site};
use crate::temporary;

/// True once the first signal is only noted.
static IS_DEFERRED: AtomicBool = AtomicBool::new(false);
/// The number of the signal that was noted; 0 before.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// See [`farewell`].
static FAREWELL: Mutex<Option<String>> = Mutex::new(None);

/// The signals.
pub(crate) const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// From now on the first signal is only noted. Signals that the program was started to ignore stay ignored.
pub fn defer() {
    IS_DEFERRED.store(true, Ordering::Relaxed);
    temporary::watch();
}

/// Sets the sentence of a warning, behind `ended by SIGINT: `, that is printed when a signal ends the process. It replaces an earlier one.
pub fn farewell(sentence: impl Into<String>) {
    *FAREWELL.lock().unwrap_or_else(PoisonError::into_inner) = Some(sentence.into());
    temporary::watch();
}

/// Prints the [`farewell`], if there is one.
pub(crate) fn say_farewell(signal: i32) {
    if let Some(sentence) = FAREWELL.lock().unwrap_or_else(PoisonError::into_inner).take() {
        log::warning(&Site::PROGRAM, &format!("ended by {}: {sentence}", name(signal)));
    }
}

/// Returns the number of the signal that was noted, if one has come.
pub fn received() -> Option<i32> {
    Some(RECEIVED.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
}

/// Returns the name of a signal, such as `SIGINT`.
pub fn name(signal: i32) -> &'static str {
    signal_hook::low_level::signal_name(signal).unwrap_or("a signal")
}

/// Notes a signal. Returns false if it must end the process: it is not the first one, or is not deferred.
pub(crate) fn note(signal: i32) -> bool {
    IS_DEFERRED.load(Ordering::Relaxed)
        && RECEIVED.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}

/// Waits until input can be read. Returns false if a signal was noted before.
#[cfg(target_os = "linux")]
pub(crate) fn wait_for_input(input: impl AsFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    /// Time between two looks at the signal.
    const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    if !IS_DEFERRED.load(Ordering::Relaxed) {
        return true;
    }
    loop {
        if received().is_some() {
            return false;
        }
        let ready = poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&PATIENCE));
        match ready {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            // (The read tells of errors.)
            Ok(_) | Err(_) => return true,
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn wait_for_input(_: impl AsFd) -> bool {
    received().is_none()
}
