//! Large products in two halves; a second thread may take one of them.
//!
//! A library's rounding of an element may depend on the numbers of rows and columns. So a thread that works
//! [`InHalves`] always cuts its large products, with and without a second thread: the results are the same. Elementwise
//! operations do not depend on the cut, and are cut if that is faster ([`by_rows`]).

#![allow(unsafe_code)]

use crate::cpu::access::overlap;
use crate::view::{View, ViewMut};
use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Smallest number of multiplications of a product that is cut: half a millisecond of work. Waking a thread takes a
/// tenth of that.
const LEAST_MULTIPLICATIONS: usize = 1 << 25;
/// Cuts are at multiples of this many rows or columns, the groups of the kernels.
const GROUP: usize = 16;
/// Number of polls by an idle thread before it sleeps: a tenth of a millisecond or two. Waking it takes a half or a
/// quarter of that.
const LOOKS: usize = 4000;
/// Smallest number of elements, of all sources, for which elementwise work is cut (ten microseconds), and for which a
/// helper is woken.
const LEAST_ELEMENTS: usize = 1 << 17;
const LEAST_ELEMENTS_TO_WAKE: usize = 1 << 21;

/// Place of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cpu) enum Cut {
    /// Before this row.
    Row(usize),
    /// Before this column.
    Column(usize),
}

/// Returns the cut that this thread makes in a product of m rows, n columns and k terms, if it makes one. Each half
/// rearranges one of the factors again; the cut makes that the smaller one.
pub(in crate::cpu) fn cut(m: usize, n: usize, k: usize) -> Option<Cut> {
    if m * n * k < LEAST_MULTIPLICATIONS || !MODE.with_borrow(|mode| matches!(mode, Mode::Halves(_))) {
        return None;
    }
    let middle = |length: usize| (length / 2).next_multiple_of(GROUP);
    match m > n {
        true => (middle(m) < m).then(|| Cut::Row(middle(m))),
        false => (middle(n) < n).then(|| Cut::Column(middle(n))),
    }
}

enum Mode {
    Whole,
    Halves(Option<Arc<Shared>>),
}

thread_local! {
    static MODE: RefCell<Mode> = const { RefCell::new(Mode::Whole) };
}

/// While it lives, the thread that made it cuts its large products in halves.
pub struct InHalves {
    before: Mode,
    /// It belongs to its thread.
    _thread: PhantomData<*const ()>,
}

impl InHalves {
    /// With a helper, that takes halves while it has time.
    pub fn with(helper: Option<&Helper>) -> InHalves {
        let mode = Mode::Halves(helper.map(|helper| helper.shared.clone()));
        InHalves { before: MODE.replace(mode), _thread: PhantomData }
    }
}

impl Drop for InHalves {
    fn drop(&mut self) {
        MODE.set(std::mem::replace(&mut self.before, Mode::Whole));
    }
}

/// A thread that takes halves of products.
pub struct Helper {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Helper {
    /// Starts a helper. It calls `has_time` before it accepts a half; the argument is true if the helper is awake and
    /// so has a processor. Returns `None` if no thread can be started.
    pub fn start(has_time: impl Fn(bool) -> bool + Send + Sync + 'static) -> Option<Helper> {
        let has_time = Box::new(has_time);
        let (state, changed, done, awake, offered) = Default::default();
        let shared = Arc::new(Shared { has_time, state, changed, done, awake, offered });
        let theirs = shared.clone();
        #[allow(clippy::disallowed_methods)]
        // The crate does not know kaldi-io; without a thread there is no helper.
        let thread = std::thread::Builder::new().name("halves".into()).spawn(move || theirs.work()).ok()?;
        Some(Helper { shared, thread: Some(thread) })
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        *self.shared.state() = State::Closed;
        self.shared.offered.store(true, Ordering::Relaxed);
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // The waiting code has already seen a panic there.
            let _ = thread.join();
        }
    }
}

/// The half that a helper computes for the offering thread.
#[derive(Clone, Copy)]
struct Work(*const (dyn Fn() + 'static));

// SAFETY: `both` explains why another thread may call its closure, and waits for the end of the call.
unsafe impl Send for Work {}

#[derive(Default)]
enum State {
    #[default]
    Nothing,
    Offered(Work),
    Taken,
    Failed,
    /// The helper has ended.
    Closed,
}

struct Shared {
    has_time: Box<dyn Fn(bool) -> bool + Send + Sync>,
    state: Mutex<State>,
    changed: Condvar,
    /// Set when the accepted work is done.
    done: AtomicBool,
    /// True while the helper polls `offered`.
    awake: AtomicBool,
    /// Set if the helper should examine `state`.
    offered: AtomicBool,
}

/// Looks for a while whether a flag is set.
fn look(flag: &AtomicBool) {
    for _ in 0..LOOKS {
        if flag.load(Ordering::Acquire) {
            return;
        }
        std::hint::spin_loop();
    }
}

/// True to wake a sleeping helper.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) enum Wake {
    Yes,
    No,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// The helper's thread.
    fn work(&self) {
        /// Tells the waiting thread if the work panics.
        struct Ends<'a>(&'a Shared);
        impl Drop for Ends<'_> {
            fn drop(&mut self) {
                let mut state = self.0.state();
                *state = if matches!(*state, State::Taken) { State::Failed } else { State::Closed };
                self.0.changed.notify_all();
            }
        }
        let _ends = Ends(self);
        let (mut state, mut looked) = (self.state(), true);
        loop {
            match *state {
                State::Closed => return,
                State::Offered(work) => {
                    *state = State::Taken;
                    drop(state);
                    // SAFETY: `both` keeps the pointer's target alive until this is done.
                    unsafe { (*work.0)() };
                    state = self.state();
                    *state = State::Nothing;
                    self.offered.store(false, Ordering::Relaxed);
                    self.awake.store(true, Ordering::Relaxed);
                    looked = false;
                    self.done.store(true, Ordering::Release);
                    self.changed.notify_all();
                }
                _ if !looked => {
                    drop(state);
                    look(&self.offered);
                    state = self.state();
                    self.awake.store(false, Ordering::Relaxed);
                    looked = true;
                }
                _ => state = self.wait(state),
            }
        }
    }

    /// Offers work to the helper. Returns false if it cannot take any.
    fn offer(&self, work: Work, wake: Wake) -> bool {
        let awake = self.awake.load(Ordering::Relaxed);
        if (wake == Wake::No && !awake) || !(self.has_time)(awake) {
            return false;
        }
        let mut state = self.state();
        if !matches!(*state, State::Nothing) {
            return false;
        }
        self.done.store(false, Ordering::Relaxed);
        *state = State::Offered(work);
        drop(state);
        self.offered.store(true, Ordering::Release);
        self.changed.notify_all();
        true
    }

    /// Waits until the helper has done the work and returns true. Returns false if it has not begun; it then never
    /// will.
    fn finish(&self) -> bool {
        let (mut state, mut looked) = (self.state(), false);
        loop {
            match *state {
                State::Offered(_) => {
                    *state = State::Nothing;
                    return false;
                }
                State::Taken if !looked => {
                    drop(state);
                    look(&self.done);
                    looked = true;
                    state = self.state();
                }
                State::Taken => state = self.wait(state),
                State::Nothing => return true,
                State::Failed | State::Closed => {
                    panic!("the thread that takes halves of products has failed")
                }
            }
        }
    }
}

/// Does two pieces of work, the second one on the helper's thread if this thread has an idle one.
///
/// # Safety
///
/// It must be sound to run `second` on another thread, beside `first`, while this thread waits.
pub(in crate::cpu) unsafe fn both(wake: Wake, first: impl FnOnce(), second: impl Fn()) {
    let helper = MODE.with_borrow(|mode| match mode {
        Mode::Halves(helper) => helper.clone(),
        Mode::Whole => None,
    });
    let Some(helper) = helper else {
        first();
        return second();
    };
    let work: *const (dyn Fn() + '_) = &second;
    // SAFETY: only the lifetime changes; the guard below waits for the helper before `second` ends, also in a panic.
    let work =
        Work(unsafe { std::mem::transmute::<*const (dyn Fn() + '_), *const (dyn Fn() + 'static)>(work) });
    if !helper.offer(work, wake) {
        first();
        return second();
    }
    /// For a panic of `first`.
    struct Waits<'a>(&'a Shared);
    impl Drop for Waits<'_> {
        fn drop(&mut self) {
            self.0.finish();
        }
    }
    let waits = Waits(&helper);
    first();
    std::mem::forget(waits);
    if !helper.finish() {
        second();
    }
}

/// Runs `work` for ranges of rows of `dst`, all rows at once or some of them on the helper's thread. Each row of `dst`
/// must depend only on the same row of the sources, or on a source's only row.
pub(in crate::cpu) fn by_rows(dst: ViewMut<'_>, sources: &[View<'_>], work: impl Fn(Range<usize>)) {
    let rows = dst.rows();
    let size = rows * dst.cols() * (1 + sources.len());
    let has_helper = || MODE.with_borrow(|mode| matches!(mode, Mode::Halves(Some(_))));
    let written = dst.as_view();
    let apart = |source: &View<'_>| {
        (source.rows() == rows && written.same_start(source)) || !overlap(&written, source)
    };
    if size < LEAST_ELEMENTS
        || rows < 2
        || dst.stride() < dst.cols()
        || !has_helper()
        || !sources.iter().all(apart)
    {
        return work(0..rows);
    }
    let wake = if size < LEAST_ELEMENTS_TO_WAKE { Wake::No } else { Wake::Yes };
    // SAFETY: rows of `dst` do not overlap, and neither half reads the other half's rows: a source is apart from `dst`,
    // or lies in the same place row by row. Views of all these elements belong to this thread, which waits for the
    // other one.
    unsafe { both(wake, || work(0..rows / 2), || work(rows / 2..rows)) }
}

/// These rows of a view; a view with fewer is left to those who check shapes.
pub(in crate::cpu) fn part(view: View<'_>, rows: Range<usize>) -> View<'_> {
    if rows.end <= view.rows() { view.row_range(rows) } else { view }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;
    use crate::backend::{Activation, Gemm, NormalizedPlus, Transpose};
    use crate::cpu::arithmetic::Arithmetic;
    use crate::cpu::cpu;
    use crate::cpu::products::gemm::{self, tests::check};
    use std::sync::atomic::AtomicUsize;

    fn values(rows: usize, cols: usize, factor: f32) -> Matrix {
        Matrix::from_vec(rows, cols, (0..rows * cols).map(|i| (i as f32 * factor).sin()).collect())
    }

    fn product(a: View<'_>, b: View<'_>, (m, n): (usize, usize)) -> Vec<f32> {
        let mut c = values(m, n, 1.3);
        cpu().gemm(Gemm::add(c.view_mut(), a, b.transposed()).times(0.7));
        c.to_vec()
    }

    #[test]
    fn halves_are_products_of_their_own_and_the_same_on_two_threads() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = asked.clone();
        let helper = Helper::start(move |_| counter.fetch_add(1, Ordering::Relaxed) % 5 != 4).unwrap();
        for (m, n, k) in [(700, 200, 300), (130, 1000, 300)] {
            let (a, b) = (values(m, k, 0.7), values(n, k, 0.3));
            let alone = {
                let _halves = InHalves::with(None);
                product(a.view(), b.view(), (m, n))
            };
            let mut expected = values(m, n, 1.3);
            let _halves = InHalves::with(Some(&helper));
            match cut(m, n, k).unwrap() {
                Cut::Row(row) => {
                    for rows in [0..row, row..m] {
                        let (c, a) = (expected.view_mut().row_range(rows.clone()), a.view().row_range(rows));
                        gemm::in_one(Arithmetic::Floats, Gemm::add(c, a, b.view().transposed()).times(0.7));
                    }
                }
                Cut::Column(column) => {
                    for columns in [0..column, column..n] {
                        let c = expected.view_mut().col_range(columns.clone());
                        let b = b.view().row_range(columns).transposed();
                        gemm::in_one(Arithmetic::Floats, Gemm::add(c, a.view(), b).times(0.7));
                    }
                }
            }
            assert!(alone == expected.to_vec());
            for _ in 0..20 {
                assert!(product(a.view(), b.view(), (m, n)) == alone);
            }
        }
        assert_eq!(asked.load(Ordering::Relaxed), 40);
    }

    #[test]
    fn halves_are_right() {
        let helper = Helper::start(|_| true).unwrap();
        let _halves = InHalves::with(Some(&helper));
        for transposes in [(Transpose::No, Transpose::No), (Transpose::No, Transpose::Yes)] {
            for size in [(500, 250, 270), (130, 700, 370)] {
                assert!(cut(size.0, size.1, size.2).is_some());
                check(size, transposes, |product| gemm::gemm(Arithmetic::Floats, product));
            }
        }
    }

    /// Everything that goes row by row, on matrices that are large enough to wake the helper, and others.
    fn row_by_row(rows: usize, cols: usize) -> Vec<Vec<f32>> {
        let (a, b, row) = (values(rows, cols, 0.7), values(rows, cols, 0.3), values(1, cols, 0.9));
        let mut results = Vec::new();
        let mut keep = |f: &dyn Fn(ViewMut<'_>)| {
            let mut c = values(rows, cols, 1.1);
            f(c.view_mut());
            results.push(c.to_vec());
        };
        let (a, b, row, cpu) = (a.view(), b.view(), row.view(), cpu());
        keep(&|c| cpu.weighted_sum(c, &[(0.3, a), (-0.7, b)], false));
        keep(&|c| cpu.weighted_sum(c, &[(0.3, a), (-0.7, b), (0.1, a)], true));
        keep(&|c| cpu.activate(c, a, Activation::Sigmoid));
        keep(&|c| cpu.activate(c, c.as_view(), Activation::Tanh));
        keep(&|c| cpu.normalize_cols(c, a, row, row));
        keep(&|c| {
            let terms = NormalizedPlus { src: a, mean: row, scale: row, factor: row, other: b };
            cpu.normalize_cols_and_add(c, terms)
        });
        keep(&|c| cpu.set_rows(c, row));
        keep(&|c| cpu.log_softmax(c, a));
        keep(&|c| cpu.add(c, 0.7, a));
        results
    }

    #[test]
    fn rows_are_the_same_on_two_threads() {
        for (rows, cols) in [(1501, 703), (401, 403), (3, 5)] {
            let expected = row_by_row(rows, cols);
            let helper = Helper::start(|_| true).unwrap();
            let _halves = InHalves::with(Some(&helper));
            assert!(row_by_row(rows, cols) == expected, "{rows} x {cols}");
        }
    }

    #[test]
    fn products_are_whole_again_when_it_is_over() {
        {
            let _outer = InHalves::with(None);
            {
                let helper = Helper::start(|_| true).unwrap();
                let _inner = InHalves::with(Some(&helper));
            }
            assert_eq!(cut(4096, 128, 128), Some(Cut::Row(2048)));
            assert_eq!(cut(128, 4100, 128), Some(Cut::Column(2064)));
            assert_eq!(cut(128, 128, 128), None);
        }
        assert_eq!(cut(4096, 4096, 4096), None);
    }

    #[test]
    #[should_panic(expected = "has failed")]
    fn a_failure_is_not_waited_for_forever() {
        let helper = Helper::start(|_| true).unwrap();
        let _halves = InHalves::with(Some(&helper));
        let owner = std::thread::current().id();
        let taken = AtomicBool::new(false);
        let first = || {
            while !taken.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        };
        let second = || {
            taken.store(true, Ordering::Relaxed);
            assert_eq!(std::thread::current().id(), owner);
        };
        // SAFETY: both share only atomics and constants.
        unsafe { both(Wake::Yes, first, second) };
    }
}
