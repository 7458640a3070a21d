//! `low_rank.cu`: one block each.

use super::{BLOCK, GpuBackend};
use crate::cuda::backend::PARTIALS;
use crate::cuda::engine::Engine;
use crate::cuda::op::{Arg, Launch};
use crate::low_rank::{FLAGS, LowRank, LowRankUpdate};
use crate::memory::Accumulator;
use crate::view::{View, ViewMut};

/// The same number as in `low_rank.cu`.
const WARP: u32 = 32;
const LOW_RANK_BLOCK: u32 = 1024;

impl<E: Engine> GpuBackend<E> {
    /// A warp for each pair of rows, so far as there are that many in a block.
    fn one_block(&self, kernel: &'static str, rank: usize, args: &[Arg]) {
        let threads = (WARP * (rank as u32 / 2)).next_power_of_two().clamp(BLOCK, LOW_RANK_BLOCK);
        self.push(Launch::new(kernel, [1, 1], [threads, 1], args));
    }

    /// Checks what all have in common: flags, and the state of an estimate of rank `n`, whose algebra fits the scratch memory.
    #[track_caller]
    fn flags_and_state(&self, flags: View<'_>, state: &mut Accumulator, n: usize) -> [Arg; 2] {
        assert_eq!((flags.rows(), flags.cols()), (1, FLAGS), "flags");
        assert_eq!(state.len(), 2 * n + 1, "the state of rank {n}");
        assert!(2 * n * n + 6 * n <= PARTIALS, "a rank of {n}");
        [Arg::Mat(self.mat(flags)), Arg::Doubles(self.whole_sums_of(state))]
    }
}

impl<E: Engine> LowRank for GpuBackend<E> {
    fn low_rank_update(
        &self,
        a: ViewMut<'_>,
        flags: ViewMut<'_>,
        state: &mut Accumulator,
        moments: View<'_>,
        energies: &mut Accumulator,
        update: LowRankUpdate,
    ) {
        let n = a.rows();
        assert_eq!((a.cols(), moments.rows(), moments.cols()), (n + 1, 2 * n, n), "rank {n}");
        assert!(n < update.dim && !energies.is_empty(), "rank {n} of {}", update.dim);
        let [flags, state] = self.flags_and_state(flags.as_view(), state, n);
        let args = [
            Arg::Mat(self.mat(a.as_view())),
            flags,
            state,
            Arg::Doubles(self.partials),
            Arg::Mat(self.mat(moments)),
            Arg::Doubles(self.whole_sums_of(energies)),
            Arg::Int(update.rows as i32),
            Arg::Int(update.dim as i32),
            Arg::Double(update.eta),
            Arg::Double(update.alpha),
        ];
        self.one_block("low_rank_update", n, &args);
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
