//! `low_rank.cu`: one block for each estimate.

use super::{BLOCK, GpuBackend, LARGE_BLOCK};
use crate::cuda::backend::{DUE_LIST, PARTIALS};
use crate::cuda::engine::Engine;
use crate::cuda::op::{Arg, Launch};
use crate::low_rank::{Due, FLAGS, LowRank, Observed, least_share};
use crate::memory::Accumulator;
use crate::view::{View, ViewMut};

/// Number of words of each update in the list of due ones.
const WORDS_OF_DUE: usize = 15;
/// Updates that are made side by side, at most.
const MOST_DUE: usize = DUE_LIST / WORDS_OF_DUE;

/// Numbers of scratch memory for the algebra of rank n.
fn scratch(n: usize) -> usize {
    n * n + 6 * n
}

impl<E: Engine> GpuBackend<E> {
    /// Launches a kernel in one block, which has sixteen threads for each row if a block can have as many.
    fn one_block(&self, kernel: &'static str, rank: usize, args: &[Arg]) {
        let threads = (16 * rank as u32).next_power_of_two().clamp(BLOCK, LARGE_BLOCK);
        self.push(Launch::new(kernel, [1, 1], [threads, 1], args));
    }

    /// Checks the common arguments: flags, and the state of an estimate of rank `n`. Its algebra must fit the scratch
    /// memory.
    #[track_caller]
    fn flags_and_state(&self, flags: View<'_>, state: &mut Accumulator, n: usize) -> [Arg; 2] {
        assert_eq!((flags.rows(), flags.cols()), (1, FLAGS), "flags");
        assert_eq!(state.len(), 2 * n + 1, "the state of rank {n}");
        assert!(2 * scratch(n) <= PARTIALS, "a rank of {n}");
        [Arg::Mat(self.mat(flags)), Arg::Doubles(self.whole_sums_of(state))]
    }

    /// Puts an update into the list, with scratch memory from `start` on.
    fn note_due(&self, place: usize, start: usize, due: &mut Due<'_>) {
        let Due { a, flags, state, moments, energies, update } = due;
        let n = a.rows();
        assert_eq!((a.cols(), moments.rows(), moments.cols()), (n + 1, 2 * n, n), "rank {n}");
        assert!(n < update.dim && !energies.is_empty(), "rank {n} of {}", update.dim);
        let [flags, state] = self.flags_and_state(flags.as_view(), state, n);
        let args = [
            Arg::Doubles(self.due_list()),
            Arg::Int(place as i32),
            Arg::Mat(self.mat(a.as_view())),
            flags,
            Arg::Mat(self.mat(*moments)),
            state,
            Arg::Doubles(self.partials + 8 * start as u64),
            Arg::Doubles(self.whole_sums_of(energies)),
            Arg::Int(update.rows as i32),
            Arg::Int(update.dim as i32),
            Arg::Double(update.eta),
            Arg::Double(update.alpha),
        ];
        self.push(Launch::new("low_rank_due", [1, 1], [1, 1], &args));
    }

    /// Makes the first updates of the list. `places`: numbers of memory that a block gets.
    fn make_due(&self, count: usize, places: usize) {
        let args = [Arg::Doubles(self.due_list()), Arg::Int(places as i32)];
        let launch = Launch::new("low_rank_update", [count as u32, 1], [LARGE_BLOCK, 1], &args);
        self.push(launch.with_block_memory(8 * places as u32));
    }

    fn due_list(&self) -> u64 {
        self.partials + 8 * PARTIALS as u64
    }
}

impl<E: Engine> GpuBackend<E> {
    fn of_side(&self, side: Observed<'_>) -> [Arg; 5] {
        let Observed { energies, more, products, l, dim, alpha } = side;
        let n = l.rows();
        assert_eq!((l.cols(), products.rows(), products.cols()), (n, n, n), "rank {n}");
        let least = least_share(dim, alpha, self.engine().math().factor_bits());
        let energy = Arg::Doubles(self.whole_sums_of(energies));
        let [products, l] = [products, l].map(|m| Arg::Mat(self.mat(m)));
        [energy, Arg::Double(more), products, l, Arg::Double(least)]
    }
}

impl<E: Engine> LowRank for GpuBackend<E> {
    fn low_rank_factor(&self, factor: ViewMut<'_>, sides: [Observed<'_>; 2]) {
        assert_eq!((factor.rows(), factor.cols()), (1, 1), "one number");
        let rank = sides.iter().map(|side| side.l.rows()).max().unwrap_or(0);
        let mut args = vec![Arg::Mat(self.mat(factor.as_view()))];
        args.extend(sides.into_iter().flat_map(|side| self.of_side(side)));
        self.one_block("low_rank_factor", rank, &args);
    }

    fn low_rank_update(&self, due: &mut [Due<'_>]) {
        let room = self.engine().block_memory() as usize / 8;
        let (mut count, mut start, mut places) = (0, 0, 0);
        for due in due {
            let size = scratch(due.a.rows());
            if count == MOST_DUE || start + size > PARTIALS {
                self.make_due(count, places);
                (count, start, places) = (0, 0, 0);
            }
            self.note_due(count, start, due);
            (count, start) = (count + 1, start + size);
            if size <= room {
                places = places.max(size);
            }
        }
        if count > 0 {
            self.make_due(count, places);
        }
    }

    fn low_rank_correction(
        &self,
        c: ViewMut<'_>,
        flags: ViewMut<'_>,
        state: &mut Accumulator,
        products: View<'_>,
        careful: bool,
    ) {
        let n = c.rows();
        assert_eq!((c.cols(), products.rows(), products.cols()), (n, n, n), "rank {n}");
        let [flags, state] = self.flags_and_state(flags.as_view(), state, n);
        let (c, products) = (Arg::Mat(self.mat(c.as_view())), Arg::Mat(self.mat(products)));
        let scratch = Arg::Doubles(self.partials);
        self.one_block(
            "low_rank_correction",
            n,
            &[c, flags, state, scratch, products, Arg::Int(careful as i32)],
        );
    }

    fn low_rank_restart(&self, w: ViewMut<'_>, flags: View<'_>, state: &mut Accumulator) {
        let n = w.rows();
        let [flags, state] = self.flags_and_state(flags, state, n);
        self.one_block("low_rank_restart", n, &[Arg::Mat(self.mat(w.as_view())), flags, state]);
    }
}
