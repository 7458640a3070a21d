//! Work on several threads with results that do not depend on the number of threads.

use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use kaldi_io::threads;

/// Cuts `0..items` into at most `parts` ranges of almost equal lengths, calls `work` for each, and returns the results in
/// the order of the ranges.
pub fn map<T: Send>(
    items: usize,
    parts: usize,
    threads: NonZero<usize>,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    let parts = parts.min(items).max(1);
    let range = |part: usize| part * items / parts..(part + 1) * items / parts;
    let results: Mutex<Vec<Option<T>>> = Mutex::new((0..parts).map(|_| None).collect());
    let next = AtomicUsize::new(0);
    let run = |()| {
        loop {
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part >= parts {
                break;
            }
            let result = work(range(part));
            results.lock().unwrap_or_else(PoisonError::into_inner)[part] = Some(result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.get().min(parts) {
            if threads::start_in_or_return(scope, "pronunciations", (), run).is_err() {
                break;
            }
        }
        run(());
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_for_any_number_of_threads() {
        for threads in [1, 3, 20] {
            for items in [0, 1, 5, 100] {
                let threads = NonZero::new(threads).unwrap();
                let all: Vec<usize> = map(items, 7, threads, |range| range.collect::<Vec<_>>()).concat();
                assert_eq!(all, (0..items).collect::<Vec<_>>());
            }
        }
    }
}
