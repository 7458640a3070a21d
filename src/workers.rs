//! Work on several threads with results in the order of what was given.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::Result;

/// Takes an item; false if no more are wanted.
pub type Give<'g, T> = &'g mut dyn FnMut(T) -> bool;

/// Runs `produce` on a thread of its own, and `consume` on this one for each item that it gives. At most `waiting` items lie
/// between the two. If both fail, the error is that of `consume`.
pub fn side_by_side<T: Send>(
    waiting: usize,
    produce: impl FnOnce(Give<'_, T>) -> Result<()> + Send,
    consume: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let (sender, receiver) = sync_channel(waiting);
    thread::scope(|scope| {
        let producer = scope.spawn(move || produce(&mut |item| sender.send(item).is_ok()));
        let consumed = receiver.into_iter().try_for_each(consume);
        let produced = producer.join().unwrap_or_else(|panic| resume_unwind(panic));
        consumed.and(produced)
    })
}

/// Runs `produce` on a thread of its own, each item that it gives through one of the `workers`, of which each has a thread,
/// and `consume` on this thread for each result, in the order of the items. At most `most` items are anywhere between.
pub fn in_parallel<T: Send, R: Send>(
    most: usize,
    produce: impl FnOnce(Give<'_, T>) -> Result<()> + Send,
    workers: Vec<impl FnMut(T) -> R + Send>,
    mut consume: impl FnMut(R) -> Result<()>,
) -> Result<()> {
    // Each item takes a place before it is given, and leaves it after it was consumed.
    let (take_place, leave_place) = sync_channel(most);
    let (sender, jobs) = channel();
    let (results, finished) = channel();
    let jobs = &Mutex::new(jobs);
    thread::scope(|scope| {
        for mut worker in workers {
            let results = results.clone();
            scope.spawn(move || {
                loop {
                    let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok((number, item)) = job else { break };
                    let result = catch_unwind(AssertUnwindSafe(|| worker(item)));
                    if results.send((number, result)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(results);
        let producer = scope.spawn(move || {
            let mut numbers = 0usize..;
            produce(&mut |item| {
                take_place.send(()).is_ok()
                    && numbers.next().is_some_and(|number| sender.send((number, item)).is_ok())
            })
        });
        let (mut early, mut next) = (BTreeMap::new(), 0);
        let consumed = finished.into_iter().try_for_each(|(number, result)| {
            early.insert(number, result.unwrap_or_else(|panic| resume_unwind(panic)));
            while let Some(result) = early.remove(&next) {
                consume(result)?;
                next += 1;
                // It is there: this item has taken it.
                let _ = leave_place.recv();
            }
            Ok(())
        });
        drop(leave_place);
        let produced = producer.join().unwrap_or_else(|panic| resume_unwind(panic));
        consumed.and(produced)
    })
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
    fn errors_end_both_sides() {
        let full = |number| if number < 7 { Ok(()) } else { bail!("{number}: the disk is full") };
        let error = side_by_side(2, numbers, full).unwrap_err();
        assert_eq!(error.to_string(), "7: the disk is full");
        let error = in_parallel(3, numbers, vec![|number| number; 3], full).unwrap_err();
        assert_eq!(error.to_string(), "7: the disk is full");
        // What came before an error of the producer is consumed.
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
