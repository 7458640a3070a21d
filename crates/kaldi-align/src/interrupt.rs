//! Work that ends early, because nobody wants its result any more.
//!
//! [`while_wanted`] gives this thread a question that the work asks now and then, such as one for signals. It is asked on this thread
//! alone; threads of [`in_order`](crate::parallel::in_order) learn the answer. Once it was no, it stays no: searches find no path, and
//! `in_order` passes no result on, but returns [`Interrupted`].

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between two questions, and the time for which a thread waits for others without a question.
pub(crate) const PATIENCE: Duration = Duration::from_millis(50);

/// The work was ended early, by an answer to [`while_wanted`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the work was interrupted")]
pub struct Interrupted;

/// The answer so far, for other threads.
#[derive(Debug, Clone, Default)]
pub struct Answer(Arc<AtomicBool>);

impl Answer {
    /// True if the work is to end.
    pub fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

struct Watch {
    answer: Answer,
    /// None on other threads than the one that asks, and while it asks.
    is_wanted: Option<Box<dyn FnMut() -> bool>>,
    next: Instant,
}

thread_local! {
    static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
}

/// Puts the former watch back, whatever happens.
struct Restored(Option<Watch>);

impl Drop for Restored {
    fn drop(&mut self) {
        WATCH.set(self.0.take());
    }
}

fn watched<T>(answer: Answer, is_wanted: Option<Box<dyn FnMut() -> bool>>, work: impl FnOnce() -> T) -> T {
    let watch = Watch { answer, is_wanted, next: Instant::now() };
    let _restored = Restored(WATCH.replace(Some(watch)));
    work()
}

/// Does some work, which ends early once `is_wanted` says no. That is asked on this thread, at most every 50 ms.
pub fn while_wanted<T>(is_wanted: impl FnMut() -> bool + 'static, work: impl FnOnce() -> T) -> T {
    watched(Answer::default(), Some(Box::new(is_wanted)), work)
}

/// Does a part of the work on another thread than the one that asks.
pub(crate) fn with_answer<T>(answer: Option<Answer>, work: impl FnOnce() -> T) -> T {
    match answer {
        Some(answer) => watched(answer, None, work),
        None => work(),
    }
}

/// The answer for other threads, if the work of this thread can be ended.
pub fn answer() -> Option<Answer> {
    WATCH.with_borrow(|watch| watch.as_ref().map(|watch| watch.answer.clone()))
}

/// True if the work of this thread is to end.
pub fn is_over() -> bool {
    let asked = WATCH.with_borrow_mut(|watch| {
        let Some(watch) = watch else { return Err(false) };
        if watch.answer.is_over() || watch.is_wanted.is_none() || Instant::now() < watch.next {
            return Err(watch.answer.is_over());
        }
        watch.next = Instant::now() + PATIENCE;
        watch.is_wanted.take().ok_or(false)
    });
    let mut is_wanted = match asked {
        Ok(is_wanted) => is_wanted,
        Err(is_over) => return is_over,
    };
    // (The question may itself begin other work on this thread.)
    let is_over = !is_wanted();
    WATCH.with_borrow_mut(|watch| {
        if let Some(watch) = watch {
            watch.is_wanted = Some(is_wanted);
            watch.answer.0.fetch_or(is_over, Ordering::Relaxed);
        }
    });
    is_over
}

/// Fails if the work of this thread is to end.
///
/// # Errors
/// [`Interrupted`], then.
pub fn check() -> Result<(), Interrupted> {
    if is_over() { Err(Interrupted) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::num::NonZero;
    use std::rc::Rc;

    use super::*;
    use crate::parallel::in_order;

    /// Counts to a million in steps that take a millisecond, and is asked to end after 80 ms.
    #[test]
    fn work_ends_soon_after_the_answer_and_passes_no_result_on() {
        for threads in [1, 4] {
            let begun = Instant::now();
            let asked = Rc::new(Cell::new(0));
            let count = asked.clone();
            let is_wanted = move || {
                count.set(count.get() + 1);
                begun.elapsed() < Duration::from_millis(80)
            };
            let work = |number: usize| {
                std::thread::sleep(Duration::from_millis(1));
                (number, is_over())
            };
            let mut spoilt = false;
            let result = while_wanted(is_wanted, || {
                in_order(NonZero::new(threads).unwrap(), 1_000_000, work, |(_, was_over)| {
                    spoilt |= was_over;
                    Ok::<(), crate::Error>(())
                })
            });
            assert!(matches!(result, Err(crate::Error::Interrupted(Interrupted))), "{result:?}");
            assert!(!spoilt);
            assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
            assert!((2..=20).contains(&asked.get()), "{}", asked.get());
        }
        assert_eq!((is_over(), answer().is_none()), (false, true));
    }

    #[test]
    fn no_is_the_last_answer_and_inner_work_has_its_own() {
        while_wanted(
            || false,
            || {
                assert!(is_over());
                assert!(!while_wanted(|| true, is_over));
                assert_eq!(check(), Err(Interrupted));
            },
        );
        assert_eq!(check(), Ok(()));
    }

    #[test]
    fn a_question_may_begin_other_work() {
        let inner = || while_wanted(|| true, || check().is_ok());
        assert!(!while_wanted(inner, is_over));
    }
}
