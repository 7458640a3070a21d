//! Work on several threads with results in a fixed order.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use kaldi_io::threads;

/// Does `work` for all numbers below `count` on so many threads. Passes the results to `fold` in the order of the numbers, on
/// the calling thread, so that sums do not depend on the number of threads.
///
/// # Errors
/// The first error of `fold`; later results are thrown away then.
pub fn in_order<T: Send, E>(
    threads: NonZero<usize>,
    count: usize,
    work: impl Fn(usize) -> T + Sync,
    mut fold: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    if threads.get() == 1 || count <= 1 {
        return (0..count).try_for_each(|number| fold(work(number)));
    }
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        // A worker waits if results are not taken.
        let (sender, receiver) = mpsc::sync_channel::<(usize, T)>(threads.get());
        let run = |sender: mpsc::SyncSender<(usize, T)>| {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count || sender.send((number, work(number))).is_err() {
                    return;
                }
            }
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
            return (0..count).try_for_each(|number| fold(work(number)));
        }
        let (mut waiting, mut expected) = (BTreeMap::new(), 0);
        'all: for (number, value) in &receiver {
            waiting.insert(number, value);
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

    #[test]
    fn results_come_in_order_for_any_number_of_threads() {
        for threads in [1, 2, 5] {
            let mut seen = Vec::new();
            let threads = NonZero::new(threads).unwrap();
            let result: Result<(), ()> = in_order(threads, 50, |i| i * i, |x| {
                seen.push(x);
                Ok(())
            });
            assert_eq!((result, seen), (Ok(()), (0..50).map(|i| i * i).collect::<Vec<_>>()));
        }
    }

    #[test]
    fn an_error_ends_the_work() {
        let two = NonZero::new(2).unwrap();
        let result = in_order(two, 1000, |i| i, |x| if x < 3 { Ok(()) } else { Err(x) });
        assert_eq!(result, Err(3));
    }
}
