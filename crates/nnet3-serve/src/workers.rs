//! Threads that recognise. Sessions take turns: each has one piece of work in the queue.

use std::future::Future;
use std::num::NonZero;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use kaldi_io::threads;
use tokio::sync::oneshot;

use crate::error::Result;

type Work = Box<dyn FnOnce() + Send>;

/// A queue, and the threads that work it off. They end when the queue is dropped.
#[derive(Clone)]
pub struct Workers {
    queue: Sender<Work>,
}

impl Workers {
    /// Starts the threads.
    pub fn start(count: NonZero<usize>) -> Result<Workers> {
        let (queue, next) = channel::<Work>();
        let next = Arc::new(Mutex::new(next));
        for _ in 0..count.get() {
            let next = next.clone();
            threads::start("recognition", move || {
                while let Some(work) = wait(&next) {
                    work();
                }
            })?;
        }
        Ok(Workers { queue })
    }

    /// Has a thread do the work, after all work that was given before. `None` if there is no thread any more. If the future
    /// is dropped, the work is done all the same, and its result is dropped by the thread.
    pub fn run<T: Send + 'static, F: FnOnce() -> T + Send + 'static>(
        &self,
        work: F,
    ) -> impl Future<Output = Option<T>> + Send + use<T, F> {
        let (give, take) = oneshot::channel();
        let work: Work = Box::new(move || drop(give.send(work())));
        let queued = self.queue.send(work).is_ok();
        async move { if queued { take.await.ok() } else { None } }
    }
}

/// Waits for work; the lock is free again before it is done.
fn wait(next: &Mutex<Receiver<Work>>) -> Option<Work> {
    next.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}
