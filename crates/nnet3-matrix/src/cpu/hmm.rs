//! Steps of the forward and backward recursions of hidden Markov models, sixteen sequences at a time.

use super::CpuBackend;
use super::access::{Rows, RowsMut, overlap, split};
use super::simd::{self, Kernel, Simd, VectorLevel};
use super::vector::Vector;
use crate::backend::HiddenMarkovModels;
use crate::hmm::{Hmm, HmmStep, Term, shape};
use crate::view::{View, ViewMut};
use std::ops::Range;

/// Sequences of one vector.
const COLUMNS: usize = 16;

/// How many sequences lie side by side. With these, what a forward step of a large model reads again and again stays in the
/// second-level cache: 64 bytes for each state and each symbol, or, where processors have twice as large ones, 128.
pub(super) fn columns() -> usize {
    if simd::vector_level() == VectorLevel::Avx512 { 2 * COLUMNS } else { COLUMNS }
}

/// Evaluates the last argument for each range of columns. With AVX-512 the first ranges have two vectors, because what
/// has to be done for each term, and at the end of each sum, is then done once for both; then come ranges of one vector,
/// and a last one for what is left over. The names before the last argument say whether vectors are full, and how many
/// there are.
macro_rules! each_columns {
    ($simd:ident, $cols:expr, $range:ident, $full:ident, $vectors:ident, $body:expr) => {
        let cols: usize = $cols;
        let mut start = 0;
        while $simd::LEVEL == VectorLevel::Avx512 && start + 2 * COLUMNS <= cols {
            let $range = start..start + 2 * COLUMNS;
            const $full: bool = true;
            const $vectors: usize = 2;
            $body;
            start += 2 * COLUMNS;
        }
        while start + COLUMNS <= cols {
            let $range = start..start + COLUMNS;
            const $full: bool = true;
            const $vectors: usize = 1;
            $body;
            start += COLUMNS;
        }
        if start < cols {
            let $range = start..cols;
            const $full: bool = false;
            const $vectors: usize = 1;
            $body;
        }
    };
}

#[inline(always)]
fn load<V: Vector, const FULL: bool>(row: &[f32]) -> V {
    if FULL { V::load(row) } else { V::load_part(row, 0.0) }
}

#[inline(always)]
fn store<V: Vector, const FULL: bool>(value: V, row: &mut [f32]) {
    if FULL { value.store(row) } else { value.store_part(row) }
}

/// The vectors of a row that a range of columns has.
#[inline(always)]
fn load_all<V: Vector, const FULL: bool, const W: usize>(row: &[f32], range: &Range<usize>) -> [V; W] {
    let row = &row[range.clone()];
    let mut values = [V::splat(0.0); W];
    for w in 0..W {
        values[w] = load::<V, FULL>(&row[COLUMNS * w..]);
    }
    values
}

#[inline(always)]
fn store_all<V: Vector, const FULL: bool, const W: usize>(
    values: [V; W],
    row: &mut [f32],
    range: &Range<usize>,
) {
    let row = &mut row[range.clone()];
    for w in 0..W {
        store::<V, FULL>(values[w], &mut row[COLUMNS * w..]);
    }
}

/// Functions on some vectors. Closures, and what takes them, would not be compiled for the instructions of their surroundings.
macro_rules! on_each {
    ($($name:ident)*) => {
        $(
            #[inline(always)]
            fn $name<V: Vector, const W: usize>(a: [V; W], b: [V; W]) -> [V; W] {
                let mut out = a;
                for w in 0..W {
                    out[w] = a[w].$name(b[w]);
                }
                out
            }
        )*
    };
}
on_each! { add sub mul larger }

#[inline(always)]
fn add_to<V: Vector, const FULL: bool, const W: usize>(
    row: &mut [f32],
    values: [V; W],
    range: &Range<usize>,
) {
    let old = load_all::<V, FULL, W>(row, range);
    store_all::<V, FULL, W>(add(old, values), row, range);
}

/// Σ factor · row over the terms. There are four sums side by side, since an addition to a single sum would wait for the
/// one before.
#[inline(always)]
fn sum<V: Vector, const FULL: bool, const W: usize>(
    terms: &[Term],
    rows: Rows<'_>,
    range: &Range<usize>,
) -> [V; W] {
    let mut sums = [[V::splat(0.0); W]; 4];
    let (fours, rest) = terms.as_chunks::<4>();
    for four in fours {
        for k in 0..4 {
            add_term::<V, FULL, W>(&mut sums[k], &four[k], rows, range);
        }
    }
    for (k, term) in rest.iter().enumerate() {
        add_term::<V, FULL, W>(&mut sums[k], term, rows, range);
    }
    let [a, b, c, d] = sums;
    add(add(a, b), add(c, d))
}

#[inline(always)]
fn add_term<V: Vector, const FULL: bool, const W: usize>(
    sum: &mut [V; W],
    term: &Term,
    rows: Rows<'_>,
    range: &Range<usize>,
) {
    let values = load_all::<V, FULL, W>(rows.row(term.row as usize), range);
    for w in 0..W {
        sum[w] = V::splat(term.factor).mul_add(values[w], sum[w]);
    }
}

/// What is needed to work out what arrives in an entry in this step.
struct Arrivals<'a> {
    hmm: &'a Hmm,
    alpha: Rows<'a>,
    likelihoods: Rows<'a>,
    scale: Rows<'a>,
    leak: f32,
}

impl Arrivals<'_> {
    /// The likelihood of the entry's symbol, and what arrives.
    #[inline(always)]
    fn at<V: Vector, const FULL: bool, const W: usize>(
        &self,
        entry: usize,
        scale: [V; W],
        range: &Range<usize>,
    ) -> ([V; W], [V; W]) {
        let sum = sum::<V, FULL, W>(self.hmm.into.of(entry), self.alpha, range);
        let emission = self.hmm.entry_emissions[entry] as usize;
        let likelihood = load_all::<V, FULL, W>(self.likelihoods.row(emission), range);
        let leaked = V::splat(self.leak * self.hmm.entry_leaks[entry]);
        let mut arrived = likelihood;
        for w in 0..W {
            arrived[w] = likelihood[w].mul(sum[w].mul_add(scale[w], leaked));
        }
        (likelihood, arrived)
    }

    #[inline(always)]
    fn others(&self, state: usize) -> Range<usize> {
        self.hmm.others[state] as usize..self.hmm.others[state + 1] as usize
    }
}

struct Forward<'a> {
    next: RowsMut<'a>,
    arrivals: Arrivals<'a>,
}

impl Forward<'_> {
    #[inline(always)]
    fn columns<V: Vector, const FULL: bool, const W: usize>(&mut self, range: Range<usize>) {
        let arrivals = &self.arrivals;
        let scale = load_all::<V, FULL, W>(arrivals.scale.row(0), &range);
        for state in 0..self.next.rows() {
            let (_, mut total) = arrivals.at::<V, FULL, W>(state, scale, &range);
            for entry in arrivals.others(state) {
                total = add(total, arrivals.at::<V, FULL, W>(entry, scale, &range).1);
            }
            store_all::<V, FULL, W>(total, self.next.row(state), &range);
        }
    }
}

impl Kernel for Forward<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        each_columns!(S, self.next.cols(), range, FULL, W, self.columns::<S::V, FULL, W>(range));
    }
}

struct Entries<'a> {
    entries: RowsMut<'a>,
    posteriors: RowsMut<'a>,
    arrivals: Arrivals<'a>,
    next: Rows<'a>,
    beta: Rows<'a>,
    shared: Rows<'a>,
}

impl Entries<'_> {
    #[inline(always)]
    fn columns<V: Vector, const FULL: bool, const W: usize>(&mut self, range: Range<usize>) {
        let Entries { entries, posteriors, arrivals, .. } = self;
        let zero = V::splat(0.0);
        for symbol in 0..posteriors.rows() {
            store_all::<V, FULL, W>([zero; W], posteriors.row(symbol), &range);
        }
        let scale = load_all::<V, FULL, W>(arrivals.scale.row(0), &range);
        let shared = load_all::<V, FULL, W>(self.shared.row(0), &range);
        for state in 0..self.beta.rows() {
            let beta = add(load_all::<V, FULL, W>(self.beta.row(state), &range), shared);
            // What the main entry had is what is left.
            let mut left = load_all::<V, FULL, W>(self.next.row(state), &range);
            for entry in arrivals.others(state) {
                let (likelihood, arrived) = arrivals.at::<V, FULL, W>(entry, scale, &range);
                left = sub(left, arrived);
                let emission = arrivals.hmm.entry_emissions[entry] as usize;
                add_to::<V, FULL, W>(posteriors.row(emission), mul(beta, arrived), &range);
                store_all::<V, FULL, W>(mul(likelihood, beta), entries.row(entry), &range);
            }
            let emission = arrivals.hmm.entry_emissions[state] as usize;
            let left = larger([zero; W], left);
            add_to::<V, FULL, W>(posteriors.row(emission), mul(beta, left), &range);
            let likelihood = load_all::<V, FULL, W>(arrivals.likelihoods.row(emission), &range);
            store_all::<V, FULL, W>(mul(likelihood, beta), entries.row(state), &range);
        }
    }
}

impl Kernel for Entries<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        each_columns!(S, self.beta.cols(), range, FULL, W, self.columns::<S::V, FULL, W>(range));
    }
}

struct Backward<'a> {
    beta: RowsMut<'a>,
    hmm: &'a Hmm,
    entries: Rows<'a>,
    scale: Rows<'a>,
}

impl Backward<'_> {
    #[inline(always)]
    fn columns<V: Vector, const FULL: bool, const W: usize>(&mut self, range: Range<usize>) {
        let scale = load_all::<V, FULL, W>(self.scale.row(0), &range);
        for &state in &self.hmm.backward_order {
            let state = state as usize;
            let sum = sum::<V, FULL, W>(self.hmm.out.of(state), self.entries, &range);
            store_all::<V, FULL, W>(mul(sum, scale), self.beta.row(state), &range);
        }
    }
}

impl Kernel for Backward<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        each_columns!(S, self.beta.cols(), range, FULL, W, self.columns::<S::V, FULL, W>(range));
    }
}

impl HiddenMarkovModels for CpuBackend {
    fn hmm_columns(&self) -> Option<usize> {
        Some(columns())
    }
    fn hmm_forward(&self, next: ViewMut<'_>, hmm: &Hmm, step: HmmStep<'_>) {
        let n = step.check(hmm);
        shape(&next.as_view(), hmm.states(), n);
        let (next, [alpha, likelihoods, scale]) = split(next, [step.alpha, step.likelihoods, step.scale]);
        simd::run(Forward { next, arrivals: Arrivals { hmm, alpha, likelihoods, scale, leak: step.leak } });
    }
    fn hmm_entries(
        &self,
        entries: ViewMut<'_>,
        posteriors: ViewMut<'_>,
        hmm: &Hmm,
        step: HmmStep<'_>,
        next: View<'_>,
        beta: View<'_>,
        shared: View<'_>,
    ) {
        let n = step.check(hmm);
        shape(&entries.as_view(), hmm.entries(), n);
        shape(&posteriors.as_view(), hmm.emissions(), n);
        shape(&next, hmm.states(), n);
        shape(&beta, hmm.states(), n);
        shape(&shared, 1, n);
        assert!(!overlap(&entries.as_view(), &posteriors.as_view()), "entries and posteriors in one place");
        let sources = [step.alpha, step.likelihoods, step.scale, next, beta, shared];
        let (entries, _) = split(entries, sources);
        let (posteriors, [alpha, likelihoods, scale, next, beta, shared]) = split(posteriors, sources);
        let arrivals = Arrivals { hmm, alpha, likelihoods, scale, leak: step.leak };
        simd::run(Entries { entries, posteriors, arrivals, next, beta, shared });
    }
    fn hmm_backward(&self, beta: ViewMut<'_>, hmm: &Hmm, entries: View<'_>, scale: View<'_>) {
        let n = beta.cols();
        shape(&beta.as_view(), hmm.states(), n);
        shape(&entries, hmm.entries(), n);
        shape(&scale, 1, n);
        let (beta, [entries, scale]) = split(beta, [entries, scale]);
        simd::run(Backward { beta, hmm, entries, scale });
    }
}
