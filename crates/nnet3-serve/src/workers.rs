//! Threads that recognise. Sessions take turns: each has one piece of work in the queue, and the one that has had the least
//! time comes first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use kaldi_io::threads;
use tokio::sync::oneshot;

use crate::error::Result;

type Work = Box<dyn FnOnce() + Send>;

/// The time that a session has had, in nanoseconds. A new session begins with that of the session whose turn it is.
#[derive(Debug, Clone, Default)]
pub struct Turn(Arc<AtomicU64>);

/// A piece of work: the time that its session has had, its number, and the work.
struct Piece {
    had: u64,
    number: u64,
    work: Work,
}

impl PartialEq for Piece {
    fn eq(&self, other: &Piece) -> bool {
        self.number == other.number
    }
}

impl Eq for Piece {}

impl PartialOrd for Piece {
    fn partial_cmp(&self, other: &Piece) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Piece {
    fn cmp(&self, other: &Piece) -> std::cmp::Ordering {
        (self.had, self.number).cmp(&(other.had, other.number))
    }
}

#[derive(Default)]
struct Pieces {
    waiting: BinaryHeap<Reverse<Piece>>,
    /// The number of the next piece.
    next: u64,
    /// The time that the session had whose piece was begun last.
    now: u64,
    is_closed: bool,
}

#[derive(Default)]
struct Queue {
    pieces: Mutex<Pieces>,
    changed: Condvar,
}

impl Queue {
    fn pieces(&self) -> MutexGuard<'_, Pieces> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for work. `None` if there will be no more.
    fn take(&self) -> Option<Work> {
        let mut pieces = self.pieces();
        loop {
            if pieces.is_closed {
                return None;
            }
            if let Some(Reverse(piece)) = pieces.waiting.pop() {
                pieces.now = pieces.now.max(piece.had);
                return Some(piece.work);
            }
            pieces = self.changed.wait(pieces).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A queue, and the threads that work it off. They end when this is dropped.
pub struct Workers(Arc<Queue>);

impl Drop for Workers {
    fn drop(&mut self) {
        let mut pieces = self.0.pieces();
        pieces.is_closed = true;
        // (Those who wait for it are told that there is no thread.)
        pieces.waiting.clear();
        self.0.changed.notify_all();
    }
}

impl Workers {
    /// Starts the threads. `task` names them.
    pub fn start(task: &str, count: NonZero<usize>) -> Result<Workers> {
        let workers = Workers(Arc::default());
        for _ in 0..count.get() {
            let queue = workers.0.clone();
            threads::start(task, move || {
                while let Some(work) = queue.take() {
                    work();
                }
            })?;
        }
        Ok(workers)
    }

    /// Has a thread do a session's work, when it is its turn. `None` if there is no thread any more. If the future is
    /// dropped, the work is done all the same, and its result is dropped by the thread.
    pub fn run<T: Send + 'static, F: FnOnce() -> T + Send + 'static>(
        &self,
        turn: &Turn,
        work: F,
    ) -> impl Future<Output = Option<T>> + Send + use<T, F> {
        let (give, take) = oneshot::channel();
        let had = turn.clone();
        let work: Work = Box::new(move || {
            let begin = Instant::now();
            let result = work();
            let took = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
            had.0.fetch_add(took, Ordering::Relaxed);
            drop(give.send(result));
        });
        let mut pieces = self.0.pieces();
        // A session that has paused has no claim to the time of its pause.
        let had = turn.0.fetch_max(pieces.now, Ordering::Relaxed).max(pieces.now);
        let number = pieces.next;
        pieces.next += 1;
        pieces.waiting.push(Reverse(Piece { had, number, work }));
        self.0.changed.notify_one();
        async move { take.await.ok() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_session_with_little_work_does_not_wait_for_those_with_much() {
        let workers = Workers::start("test", NonZero::<usize>::MIN).unwrap();
        let (give, take) = channel();
        let (greedy, modest) = (Turn::default(), Turn::default());
        let work = |turn: &Turn, name: &'static str, time: u64| {
            let give = give.clone();
            drop(workers.run(turn, move || {
                std::thread::sleep(Duration::from_millis(time));
                give.send(name).unwrap();
            }));
        };
        // Each has had its first piece: the greedy one a long one.
        work(&greedy, "greedy", 50);
        work(&modest, "modest", 1);
        assert_eq!([take.recv().unwrap(), take.recv().unwrap()], ["greedy", "modest"]);
        // While a third one works, both come; the greedy one first. The modest one is served first all the same.
        work(&Turn::default(), "third", 30);
        std::thread::sleep(Duration::from_millis(5));
        work(&greedy, "greedy", 1);
        work(&modest, "modest", 1);
        let order: Vec<_> = (0..3).map(|_| take.recv().unwrap()).collect();
        assert_eq!(order, ["third", "modest", "greedy"]);
    }

    #[test]
    fn work_without_threads_has_no_result() {
        let workers = Workers::start("test", NonZero::<usize>::MIN).unwrap();
        let turn = Turn::default();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(workers.run(&turn, || 3)), Some(3));
        let (begun, begins) = channel();
        let _running = workers.run(&turn, move || {
            begun.send(()).unwrap();
            std::thread::sleep(Duration::from_millis(20));
        });
        begins.recv().unwrap();
        let late = workers.run(&turn, || 4);
        drop(workers);
        assert_eq!(runtime.block_on(late), None);
    }
}
