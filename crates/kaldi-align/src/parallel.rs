//! Work on several threads with results in a fixed order.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};

use kaldi_io::threads;

use crate::interrupt::{self, Interrupted, PATIENCE};

/// Does `work` for all numbers below `count` on so many threads. Passes the results to `fold` in the order of the numbers, on
/// the calling thread, so that sums do not depend on the number of threads.
///
/// # Errors
/// The first error of `fold`, or that the work is [interrupted](interrupt); later results are thrown away then.
pub fn in_order<T: Send, E: From<Interrupted>>(
    threads: NonZero<usize>,
    count: usize,
    work: impl Fn(usize) -> T + Sync,
    mut fold: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let one_by_one = |fold: &mut dyn FnMut(T) -> Result<(), E>| {
        (0..count).try_for_each(|number| {
            interrupt::check()?;
            let value = work(number);
            interrupt::check()?;
            fold(value)
        })
    };
    if threads.get() == 1 || count <= 1 {
        return one_by_one(&mut fold);
    }
    let next = AtomicUsize::new(0);
    let answer = interrupt::answer();
    std::thread::scope(|scope| {
        // A worker waits if results are not taken.
        let (sender, receiver) = mpsc::sync_channel::<(usize, T)>(threads.get());
        let run = |sender: mpsc::SyncSender<(usize, T)>| {
            interrupt::with_answer(answer.clone(), || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count || interrupt::is_over() || sender.send((number, work(number))).is_err()
                    {
                        return;
                    }
                }
            });
        };
        let mut started = Vec::new();
        for _ in 0..threads.get().min(count) {
            match threads::start_in_or_return(scope, "alignment", sender.clone(), run) {
                Ok(thread) => started.push(thread),
                Err(_) => break,
            }
        }
        drop(sender);
        let mut result = Ok(());
        if started.is_empty() {
            return one_by_one(&mut fold);
        }
        let (mut waiting, mut expected) = (BTreeMap::new(), 0);
        'all: loop {
            let received = receiver.recv_timeout(PATIENCE);
            if let Err(interrupted) = interrupt::check() {
                result = Err(interrupted.into());
                break;
            }
            match received {
                Ok((number, value)) => drop(waiting.insert(number, value)),
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            }
            while let Some(value) = waiting.remove(&expected) {
                expected += 1;
                result = fold(value);
                if result.is_err() {
                    break 'all;
                }
            }
        }
        drop(receiver);
        started.into_iter().for_each(threads::ScopedThread::join);
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn results_come_in_order_for_any_number_of_threads() {
        for threads in [1, 2, 5] {
            let mut seen = Vec::new();
            let threads = NonZero::new(threads).unwrap();
            let result: Result<(), Interrupted> = in_order(
                threads,
                50,
                |i| i * i,
                |x| {
                    seen.push(x);
                    Ok(())
                },
            );
            assert_eq!((result, seen), (Ok(()), (0..50).map(|i| i * i).collect::<Vec<_>>()));
        }
    }

    #[test]
    fn an_error_ends_the_work() {
        let two = NonZero::new(2).unwrap();
        let fail = |x| if x < 3 { Ok(()) } else { Err(Error::data(format!("found {x}"))) };
        let result = in_order(two, 1000, |i| i, fail);
        assert_eq!(result.unwrap_err().to_string(), "found 3");
    }
}
