//! `hmm.cu`.

use super::{BLOCK, GpuBackend, HIGH};
use crate::backend::{HiddenMarkovModels, Reductions, RowsWithVectors, WholeMatrices};
use crate::cuda::engine::Engine;
use crate::cuda::op::{Arg, Launch};
use crate::cuda::table::Numbers;
use crate::hmm::{Hmm, HmmPosteriors, HmmStep, HmmWayBack, Sums, shape};
use crate::view::{View, ViewMut};
use std::sync::Arc;

/// Sequences that are worked on side by side: this many fill a device, and bound the memory that all frames of them take.
const COLUMNS: usize = 128;

/// A model's lists on a device.
struct Tables<E: Engine> {
    /// The states, those with many arcs before those with few: by the arcs into their entries, and by the arcs out of
    /// them.
    forward_order: Numbers<E>,
    backward_order: Numbers<E>,
    others: Numbers<E>,
    /// Symbol of each entry and its leak; the state that it leads to.
    symbols: Numbers<E>,
    states: Numbers<E>,
    /// Entries by symbol.
    symbol_starts: Numbers<E>,
    symbol_entries: Numbers<E>,
    into_starts: Numbers<E>,
    into_terms: Numbers<E>,
    out_starts: Numbers<E>,
    out_terms: Numbers<E>,
}

/// A row and a number in one, as `hmm.cu` takes them apart.
fn packed(row: u32, number: f32) -> i64 {
    (u64::from(row) | u64::from(number.to_bits()) << 32) as i64
}

fn terms(sums: &Sums) -> Vec<i64> {
    sums.terms.iter().map(|term| packed(term.row, term.factor)).collect()
}

/// Returns 0 to below `count`, those with more terms first. Numbers of similar size keep their order, in which
/// neighbours read the same data.
fn by_size(count: usize, size: impl Fn(usize) -> u32) -> Vec<i32> {
    let mut order: Vec<i32> = (0..count as i32).collect();
    order.sort_by_key(|&k| (size(k as usize) + 1).leading_zeros());
    order
}

fn numbers(values: &[u32]) -> Vec<i32> {
    values.iter().map(|&value| value as i32).collect()
}

impl<E: Engine> GpuBackend<E> {
    fn tables(&self, hmm: &Hmm) -> Arc<Tables<E>> {
        hmm.remote.get(self.id, || {
            let entries = hmm.entries();
            let others = |state: usize| hmm.others[state] as usize..hmm.others[state + 1] as usize;
            let mut states: Vec<i32> = (0..entries as i32).collect();
            (0..hmm.states()).for_each(|state| states[others(state)].fill(state as i32));
            let mut symbol_starts = vec![0; hmm.emissions() + 1];
            hmm.entry_emissions.iter().for_each(|&symbol| symbol_starts[symbol as usize + 1] += 1);
            (0..hmm.emissions()).for_each(|symbol| symbol_starts[symbol + 1] += symbol_starts[symbol]);
            let mut symbol_entries: Vec<i32> = (0..entries as i32).collect();
            symbol_entries.sort_by_key(|&entry| hmm.entry_emissions[entry as usize]);
            let arcs = |entry: usize| hmm.into.of(entry).len() as u32;
            let arcs_into = |state: usize| arcs(state) + others(state).map(arcs).sum::<u32>();
            let arcs_out = |state: usize| hmm.out.of(state).len() as u32;
            let symbols = hmm.entry_emissions.iter().zip(&hmm.entry_leaks);
            let ints = |values: Vec<i32>| Numbers::ints(&self.queue, &values);
            let longs = |values: Vec<i64>| Numbers::longs(&self.queue, &values);
            Tables {
                forward_order: ints(by_size(hmm.states(), arcs_into)),
                backward_order: ints(by_size(hmm.states(), arcs_out)),
                others: ints(numbers(&hmm.others)),
                symbols: longs(symbols.map(|(&symbol, &leak)| packed(symbol, leak)).collect()),
                states: ints(states),
                symbol_starts: ints(symbol_starts),
                symbol_entries: ints(symbol_entries),
                into_starts: ints(numbers(&hmm.into.starts)),
                into_terms: longs(terms(&hmm.into)),
                out_starts: ints(numbers(&hmm.out.starts)),
                out_terms: longs(terms(&hmm.out)),
            }
        })
    }

    /// Sets the posteriors of all symbols.
    fn posteriors(
        &self,
        tables: &Tables<E>,
        way: HmmWayBack<'_>,
        posteriors: ViewMut<'_>,
        factor: f32,
        step: HmmStep<'_>,
    ) {
        let to = self.mat(posteriors.as_view());
        if to.rows == 0 || to.cols == 0 {
            return;
        }
        let across = to.cols.next_power_of_two().min(32);
        let grid = [to.cols.div_ceil(across), to.rows.min(HIGH)];
        let [alpha, likelihoods, scale] = self.mats([step.alpha, step.likelihoods, step.scale]);
        let [beta, shared] = self.mats([way.beta.as_view(), way.shared.as_view()]);
        let args = [
            Arg::Mat(to),
            alpha,
            likelihoods,
            scale,
            beta,
            shared,
            Arg::Float(step.leak),
            tables.symbol_starts.arg(),
            tables.symbol_entries.arg(),
            tables.states.arg(),
            tables.into_starts.arg(),
            tables.into_terms.arg(),
            tables.symbols.arg(),
        ];
        self.push(Launch::new("hmm_posteriors", grid, [across, BLOCK / across], &args));
        self.scale(posteriors, factor);
    }

    fn mats<const N: usize>(&self, views: [View<'_>; N]) -> [Arg; N] {
        views.map(|view| Arg::Mat(self.mat(view)))
    }
}

impl<E: Engine> HiddenMarkovModels for GpuBackend<E> {
    fn hmm_columns(&self) -> Option<usize> {
        Some(COLUMNS)
    }
    fn hmm_forward(&self, next: ViewMut<'_>, total: ViewMut<'_>, hmm: &Hmm, step: HmmStep<'_>) {
        let n = step.check(hmm);
        shape(&next.as_view(), hmm.states(), n);
        let (tables, to) = (self.tables(hmm), self.mat(next.as_view()));
        let [alpha, likelihoods, scale] = self.mats([step.alpha, step.likelihoods, step.scale]);
        let args = [
            Arg::Mat(to),
            alpha,
            likelihoods,
            scale,
            Arg::Float(step.leak),
            tables.forward_order.arg(),
            tables.others.arg(),
            tables.into_starts.arg(),
            tables.into_terms.arg(),
            tables.symbols.arg(),
        ];
        self.each("hmm_forward", to, &args);
        self.col_sums(total, 1.0, next.as_view(), 0.0);
    }
    fn hmm_backward(
        &self,
        way: HmmWayBack<'_>,
        posteriors: HmmPosteriors<'_>,
        hmm: &Hmm,
        step: HmmStep<'_>,
        next: View<'_>,
    ) {
        let n = step.check(hmm);
        way.check(hmm, n);
        let HmmPosteriors { values: posteriors, factor } = posteriors;
        shape(&posteriors.as_view(), hmm.emissions(), n);
        shape(&next, hmm.states(), n);
        let (tables, to) = (self.tables(hmm), self.mat(way.entries.as_view()));
        let [likelihoods, scale] = self.mats([step.likelihoods, step.scale]);
        let [beta, shared] = self.mats([way.beta.as_view(), way.shared.as_view()]);
        let args = [Arg::Mat(to), likelihoods, beta, shared, tables.states.arg(), tables.symbols.arg()];
        self.fill("hmm_entries", to, &args);
        self.posteriors(&tables, way, posteriors, factor, step);
        let (entries, beta) = (Arg::Mat(to), self.mat(way.beta.as_view()));
        let [order, starts, terms] =
            [&tables.backward_order, &tables.out_starts, &tables.out_terms].map(Numbers::arg);
        self.each("hmm_backward", beta, &[Arg::Mat(beta), entries, scale, order, starts, terms]);

        // The entries are no longer needed: their memory takes the products.
        let products = way.entries.row_range(0..hmm.states());
        self.copy(products, way.beta.as_view());
        self.scale_rows(products, way.initial);
        self.col_sums(way.shared, step.leak, products.as_view(), 0.0);
    }
}
