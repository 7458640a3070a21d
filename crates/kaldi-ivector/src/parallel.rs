//! Independent tasks on several threads.

use std::num::NonZero;

use kaldi_io::threads;

/// Parts into which large products are cut, whatever the number of threads: so that results do not depend on it.
pub(crate) const PARTS: usize = 8;

/// Runs `work` on each task, on at most so many threads. A thread gets neighbouring tasks.
pub(crate) fn for_each<T: Send>(threads: NonZero<usize>, tasks: Vec<T>, work: impl Fn(T) + Sync) {
    let share = tasks.len().div_ceil(threads.get()).max(1);
    if share >= tasks.len() {
        return tasks.into_iter().for_each(work);
    }
    let mut tasks = tasks.into_iter();
    let mut shares = Vec::new();
    while tasks.len() > share {
        shares.push(tasks.by_ref().take(share).collect::<Vec<T>>());
    }
    let work = &work;
    let run = move |tasks: Vec<T>| tasks.into_iter().for_each(work);
    std::thread::scope(|scope| {
        for share in shares {
            if let Err(share) = threads::start_in_or_return(scope, "i-vectors", share, run) {
                run(share);
            }
        }
        tasks.for_each(work);
    });
}

/// Cuts 0..`count` into at most [`PARTS`] ranges of the same length, but for the last.
pub(crate) fn ranges(count: usize) -> Vec<std::ops::Range<usize>> {
    let length = count.div_ceil(PARTS).max(1);
    (0..count).step_by(length).map(|first| first..(first + length).min(count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_runs_once() {
        for threads in [1, 2, 3, 20] {
            let mut done = vec![0; 7];
            let tasks: Vec<(usize, &mut i32)> = done.iter_mut().enumerate().collect();
            for_each(NonZero::new(threads).unwrap(), tasks, |(i, slot)| *slot += i as i32);
            assert_eq!(done, [0, 1, 2, 3, 4, 5, 6]);
        }
        for_each(NonZero::<usize>::MIN, Vec::<()>::new(), |()| panic!("there is no task"));
    }

    #[test]
    fn ranges_cover_everything() {
        for count in [0, 1, 7, 8, 9, 64, 65] {
            let ranges = ranges(count);
            assert!(ranges.len() <= PARTS && ranges.iter().all(|range| !range.is_empty()));
            assert_eq!(ranges.into_iter().flatten().collect::<Vec<_>>(), (0..count).collect::<Vec<_>>());
        }
    }
}
