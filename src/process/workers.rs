//! Work on several threads, with results in the order of the items.
//!
//! A panic of a thread ends the process ([`kaldi_io::threads`]), so no function here waits for a thread that has
//! panicked.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::Result;
use kaldi_io::threads;

/// Takes an item. Returns false if no further items are wanted.
pub type Give<'g, T> = &'g mut dyn FnMut(T) -> bool;

/// Runs `produce` on a separate thread, and `consume` on this thread for each of its items. At most `waiting` items lie
/// between them. If both fail, the result is the error of `consume`. If no thread can be started, this thread does both
/// in turns.
pub fn side_by_side<T: Send>(
    waiting: usize,
    produce: impl FnOnce(Give<'_, T>) -> Result<()> + Send,
    consume: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let (sender, receiver) = sync_channel(waiting);
    thread::scope(|scope| {
        let start = threads::start_in_or_return(scope, "input", produce, move |produce| {
            produce(&mut |item| sender.send(item).is_ok())
        });
        match start {
            Ok(producer) => {
                let consumed = receiver.into_iter().try_for_each(consume);
                consumed.and(producer.join())
            }
            Err(produce) => in_turns(produce, consume),
        }
    })
}

/// Consumes each item when it is given.
fn in_turns<T>(
    produce: impl FnOnce(Give<'_, T>) -> Result<()>,
    mut consume: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let mut consumed = Ok(());
    let produced = produce(&mut |item| {
        consumed = consume(item);
        consumed.is_ok()
    });
    consumed.and(produced)
}

/// An event of [`in_parallel`].
enum Event<R> {
    /// There is one more job. A worker that starts now sends its results here.
    Given(Sender<Event<R>>),
    /// The result of the job of this number.
    Done(usize, R),
}

type Jobs<T> = Mutex<Receiver<(usize, T)>>;

/// Waits for a job. Returns `None` if there will be no further jobs.
fn take<T>(jobs: &Jobs<T>) -> Option<(usize, T)> {
    jobs.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// Runs `produce` on a separate thread. One of the `workers`, each on its thread, processes each of its items.
/// `consume` runs on this thread for each result, in the order of the items. At most `most` items are between `produce`
/// and `consume`.
///
/// The thread of a worker starts when there is an item for it, so there are at most as many threads as items. A worker
/// whose thread cannot be started is left out. If no thread can be started, this thread does their work.
pub fn in_parallel<T: Send, R: Send>(
    most: usize,
    produce: impl FnOnce(Give<'_, T>) -> Result<()> + Send,
    mut workers: Vec<impl FnMut(T) -> R + Send>,
    mut consume: impl FnMut(R) -> Result<()>,
) -> Result<()> {
    // Each item takes a place before it is given, and leaves it after it was consumed.
    let (take_place, leave_place) = sync_channel(most);
    let (sender, jobs) = channel();
    let (events, received) = channel();
    let jobs: &Jobs<T> = &Mutex::new(jobs);
    thread::scope(|scope| {
        let start = threads::start_in_or_return(scope, "input", produce, move |produce| {
            let mut numbers = 0usize..;
            produce(&mut |item| {
                take_place.send(()).is_ok()
                    && numbers.next().is_some_and(|number| sender.send((number, item)).is_ok())
                    && events.send(Event::Given(events.clone())).is_ok()
            })
        });
        let producer = match start {
            Ok(producer) => producer,
            Err(produce) => {
                let Some(mut worker) = workers.pop() else { return Ok(()) };
                return in_turns(produce, |item| consume(worker(item)));
            }
        };
        let (mut early, mut next) = (BTreeMap::new(), 0);
        let (mut running, mut refused) = (0, false);
        let consumed = received.into_iter().try_for_each(|event| {
            match event {
                Event::Done(number, result) => _ = early.insert(number, result),
                Event::Given(results) => {
                    if let Some(worker) = if refused { None } else { workers.pop() } {
                        let serve = move |mut worker: _| serve(jobs, &mut worker, &results);
                        match threads::start_in_or_return(scope, "worker", worker, serve) {
                            Ok(_) => running += 1,
                            Err(worker) => {
                                refused = true;
                                workers.push(worker);
                            }
                        }
                    }
                    if running == 0
                        && let (Some(worker), Some((number, item))) = (workers.last_mut(), take(jobs))
                    {
                        early.insert(number, worker(item));
                    }
                }
            }
            while let Some(result) = early.remove(&next) {
                consume(result)?;
                next += 1;
                // The place exists, because this item has taken it.
                let _ = leave_place.recv();
            }
            Ok(())
        });
        drop(leave_place);
        consumed.and(producer.join())
    })
}

/// Does jobs until no jobs are left, or until their results are not wanted any more.
fn serve<T, R>(jobs: &Jobs<T>, worker: &mut impl FnMut(T) -> R, results: &Sender<Event<R>>) {
    while let Some((number, item)) = take(jobs) {
        if results.send(Event::Done(number, worker(item))).is_err() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    fn numbers(give: Give<'_, u64>) -> Result<()> {
        for number in 0..100 {
            if !give(number) {
                bail!("nobody wants {number}");
            }
        }
        Ok(())
    }

    #[test]
    fn results_come_in_order() {
        let slow = |number: u64| {
            thread::sleep(std::time::Duration::from_micros(number * 37 % 101));
            number * number
        };
        let mut squares = Vec::new();
        let consume = |square| {
            squares.push(square);
            Ok(())
        };
        in_parallel(5, numbers, vec![slow; 4], consume).unwrap();
        assert_eq!(squares, (0..100).map(|number| number * number).collect::<Vec<u64>>());
        let mut same = Vec::new();
        side_by_side(1, numbers, |number| {
            same.push(number);
            Ok(())
        })
        .unwrap();
        assert_eq!(same, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn one_thread_in_turns() {
        let mut sum = 0;
        in_turns(numbers, |number: u64| {
            sum += number;
            Ok(())
        })
        .unwrap();
        assert_eq!(sum, 4950);
        let error = in_turns(numbers, |number| if number < 7 { Ok(()) } else { bail!("full") }).unwrap_err();
        assert_eq!(error.to_string(), "full");
    }

    /// There are at most as many threads as items.
    #[test]
    fn workers_start_when_there_is_work() {
        let seen = Mutex::new(std::collections::BTreeSet::new());
        let worker = |number: u64| {
            seen.lock().unwrap().insert(format!("{:?}", thread::current().id()));
            number
        };
        let three = |give: Give<'_, u64>| {
            assert!((0..3).all(give));
            Ok(())
        };
        let mut results = Vec::new();
        in_parallel(1000, three, vec![worker; 1000], |number| {
            results.push(number);
            Ok(())
        })
        .unwrap();
        assert_eq!(results, [0, 1, 2]);
        assert!((1..=3).contains(&seen.lock().unwrap().len()));
    }

    #[test]
    fn errors_end_both_sides() {
        let full = |number| if number < 7 { Ok(()) } else { bail!("{number}: the disk is full") };
        let error = side_by_side(2, numbers, full).unwrap_err();
        assert_eq!(error.to_string(), "7: the disk is full");
        let error = in_parallel(3, numbers, vec![|number| number; 3], full).unwrap_err();
        assert_eq!(error.to_string(), "7: the disk is full");
        // Items before an error of the producer are consumed.
        let broken = |give: Give<'_, u64>| -> Result<()> {
            assert!(give(1) && give(2));
            bail!("truncated")
        };
        let mut sum = 0;
        let add = |number| {
            sum += number;
            Ok(())
        };
        let error = in_parallel(3, broken, vec![|number| number; 2], add).unwrap_err();
        assert_eq!((sum, error.to_string().as_str()), (3, "truncated"));
    }
}
