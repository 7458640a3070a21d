//! Starts threads. Other code does not start threads.
//!
//! A system may refuse a thread: `ulimit -u`, the limit of a container, or too little memory for its stack. So every
//! start returns a result. A caller that can do the work itself uses [`start_or_return`] and [`start_in_or_return`]:
//! after a refusal they warn, and return the work.
//!
//! No thread's panic is caught. In a release build a panic ends the process where it happens (`panic = "abort"`).
//! Threads of this module do the same in builds for tests; otherwise a thread might wait for one that has panicked.

#![allow(clippy::disallowed_methods)] // Other modules use this one in place of these methods.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

use crate::error::{IoError, Result};
use crate::log::Site;

/// The largest number of threads that an option may ask for.
pub const MOST: usize = 1024;

/// Bytes of stack of a thread that asks for no other size: the number of the standard library.
const STACK: usize = 2 << 20;

const SITE: Site = Site::new("Start", "util/kaldi-thread.cc", 1);

/// A thread that runs.
#[derive(Debug)]
pub struct Thread<T>(JoinHandle<Option<T>>);

impl<T> Thread<T> {
    /// Waits for the end of the thread, and returns its result.
    pub fn join(self) -> T {
        result(self.0.join())
    }

    /// True if the thread has ended.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// Wakes the thread if it is parked.
    pub fn unpark(&self) {
        self.0.thread().unpark();
    }
}

/// A thread that may borrow from the function that started it.
#[derive(Debug)]
pub struct ScopedThread<'scope, T>(ScopedJoinHandle<'scope, Option<T>>);

impl<T> ScopedThread<'_, T> {
    /// Waits for the end of the thread, and returns its result.
    pub fn join(self) -> T {
        result(self.0.join())
    }
}

/// A thread that has panicked has ended the process, so there is a result.
fn result<T>(joined: std::thread::Result<Option<T>>) -> T {
    match joined {
        Ok(Some(result)) => result,
        Ok(None) | Err(_) => std::process::abort(),
    }
}

/// Starts a thread. `task` names it, and appears in the error as its purpose.
pub fn start<T: Send + 'static>(task: &str, work: impl FnOnce() -> T + Send + 'static) -> Result<Thread<T>> {
    start_with_stack(task, STACK, work)
}

/// Does the same as [`start`] with a stack of `stack` bytes.
pub fn start_with_stack<T: Send + 'static>(
    task: &str,
    stack: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Thread<T>> {
    let started = builder(task, stack).spawn(|| Some(without_unwinding(work)));
    started.map(Thread).map_err(|source| refused(task, source))
}

/// Starts a thread that gets `input`. Warns and returns the input if there can be no thread.
pub fn start_or_return<I: Send + 'static, T: Send + 'static>(
    task: &str,
    input: I,
    work: impl FnOnce(I) -> T + Send + 'static,
) -> std::result::Result<Thread<T>, I> {
    let slot = Slot::new(input);
    let theirs = slot.clone();
    let started = builder(task, STACK).spawn(|| without_unwinding(move || theirs.take().map(work)));
    started.map(Thread).map_err(|source| slot.give_back(task, source))
}

/// Does the same as [`start_or_return`] for a thread that borrows.
pub fn start_in_or_return<'scope, I: Send + 'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    task: &str,
    input: I,
    work: impl FnOnce(I) -> T + Send + 'scope,
) -> std::result::Result<ScopedThread<'scope, T>, I> {
    let slot = Slot::new(input);
    let theirs = slot.clone();
    let work = || without_unwinding(move || theirs.take().map(work));
    let started = builder(task, STACK).spawn_scoped(scope, work);
    started.map(ScopedThread).map_err(|source| slot.give_back(task, source))
}

fn builder(task: &str, stack: usize) -> Builder {
    Builder::new().name(task.to_owned()).stack_size(stack)
}

/// The input of a thread, until the thread has taken it.
struct Slot<I>(Arc<Mutex<Option<I>>>);

impl<I> Clone for Slot<I> {
    fn clone(&self) -> Self {
        Slot(self.0.clone())
    }
}

impl<I> Slot<I> {
    fn new(input: I) -> Slot<I> {
        Slot(Arc::new(Mutex::new(Some(input))))
    }

    fn take(&self) -> Option<I> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns the input of a thread that did not start, after a warning.
    fn give_back(&self, task: &str, source: std::io::Error) -> I {
        warn(&refused(task, source));
        match self.take() {
            Some(input) => input,
            // Only a thread that has started takes it.
            None => std::process::abort(),
        }
    }
}

/// Warns of the first thread that is missing.
fn warn(error: &IoError) {
    static WARNED: AtomicBool = AtomicBool::new(false);
    if !WARNED.swap(true, Ordering::Relaxed) {
        crate::log::kaldi_warn!(SITE, "{}; going on with fewer threads", error.chain());
    }
}

fn refused(task: &str, source: std::io::Error) -> IoError {
    IoError::Thread { task: task.to_owned(), source }
}

/// Ends the process if `work` panics, as release builds do.
fn without_unwinding<T>(work: impl FnOnce() -> T) -> T {
    struct Ends;
    impl Drop for Ends {
        fn drop(&mut self) {
            if std::thread::panicking() {
                std::process::abort();
            }
        }
    }
    let _ends = Ends;
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No system has an address space for such a stack.
    const TOO_MUCH: usize = 1 << 60;

    #[test]
    fn results_come_back() {
        assert_eq!(start("test", || 3).unwrap().join(), 3);
        assert_eq!(start_or_return("test", 4, |x| x + 1).unwrap().join(), 5);
        let text = String::from("abc");
        let length = std::thread::scope(|scope| {
            start_in_or_return(scope, "test", &text, |text| text.len()).unwrap().join()
        });
        assert_eq!(length, 3);
    }

    #[test]
    fn a_thread_that_cannot_be_started_is_an_error() {
        let error = start_with_stack("a large stack", TOO_MUCH, || ()).unwrap_err();
        let text = error.chain();
        assert!(text.starts_with("cannot start a thread for a large stack"), "{text}");
        assert!(text.contains("ulimit -u"), "{text}");
        let slot = Slot::new(7);
        assert_eq!(slot.give_back("test", std::io::Error::from_raw_os_error(11)), 7);
    }
}
