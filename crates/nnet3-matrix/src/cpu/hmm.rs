//! Steps of the forward and backward recursions of hidden Markov models, sixteen sequences at a time.

use super::CpuBackend;
use super::access::{Rows, RowsMut, split_all};
use crate::backend::HiddenMarkovModels;
use crate::hmm::{Hmm, HmmPosteriors, HmmStep, HmmWayBack, Term, shape};
use crate::view::{View, ViewMut};
use kaldi_simd::{self as simd, Kernel, Simd, Vector, VectorLevel};
use std::ops::Range;

/// Sequences of one vector.
const COLUMNS: usize = 16;

/// Number of sequences side by side. With this number the data of a forward step of a large model stay in the
/// second-level cache: 64 bytes for each state and each symbol. On processors with twice as large vectors and caches it
/// is 128 bytes.
pub(super) fn columns() -> usize {
    if simd::vector_level() == VectorLevel::Avx512 { 2 * COLUMNS } else { COLUMNS }
}

/// Evaluates the last argument for each range of columns. With AVX-512 the first ranges have two vectors, which share
/// the work for each term and at the end of each sum. Then come ranges of one vector, and a last one for the remainder.
/// The names before the last argument tell if vectors are full, and their number.
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

/// Functions on several vectors. Closures, and functions that take them, would not be compiled for the instructions of
/// their surroundings.
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

/// Σ factor · row over the terms. There are four separate sums, because additions to a single sum would wait for each
/// other.
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

/// The inputs for the arrivals in an entry in this step.
struct Arrivals<'a> {
    hmm: &'a Hmm,
    alpha: Rows<'a>,
    likelihoods: Rows<'a>,
    scale: Rows<'a>,
    leak: f32,
}

impl Arrivals<'_> {
    /// The likelihood of the entry's symbol, and its arrivals.
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

/// Number of states that are summed in single precision.
const BLOCK: usize = 64;

/// Sums over all states, of each column.
struct Totals([f64; 2 * COLUMNS]);

impl Totals {
    fn new() -> Totals {
        Totals([0.0; 2 * COLUMNS])
    }

    #[inline(always)]
    fn add<V: Vector, const W: usize>(&mut self, block: [V; W]) {
        let mut values = [0.0; 2 * COLUMNS];
        for w in 0..W {
            block[w].store(&mut values[COLUMNS * w..]);
        }
        for k in 0..COLUMNS * W {
            self.0[k] += f64::from(values[k]);
        }
    }

    /// row = factor · sums.
    #[inline(always)]
    fn write(&self, row: &mut [f32], factor: f32) {
        for (to, sum) in row.iter_mut().zip(&self.0) {
            *to = factor * *sum as f32;
        }
    }
}

struct Forward<'a> {
    next: RowsMut<'a>,
    total: RowsMut<'a>,
    arrivals: Arrivals<'a>,
}

impl Forward<'_> {
    #[inline(always)]
    fn columns<V: Vector, const FULL: bool, const W: usize>(&mut self, range: Range<usize>) {
        let arrivals = &self.arrivals;
        let scale = load_all::<V, FULL, W>(arrivals.scale.row(0), &range);
        let (states, mut totals) = (self.next.rows(), Totals::new());
        for first in (0..states).step_by(BLOCK) {
            let mut block = [V::splat(0.0); W];
            for state in first..states.min(first + BLOCK) {
                let (_, mut total) = arrivals.at::<V, FULL, W>(state, scale, &range);
                for entry in arrivals.others(state) {
                    total = add(total, arrivals.at::<V, FULL, W>(entry, scale, &range).1);
                }
                store_all::<V, FULL, W>(total, self.next.row(state), &range);
                block = add(block, total);
            }
            totals.add(block);
        }
        totals.write(&mut self.total.row(0)[range], 1.0);
    }
}

impl Kernel for Forward<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        each_columns!(S, self.next.cols(), range, FULL, W, self.columns::<S::V, FULL, W>(range));
    }
}

struct Backward<'a> {
    beta: RowsMut<'a>,
    shared: RowsMut<'a>,
    entries: RowsMut<'a>,
    posteriors: RowsMut<'a>,
    factor: f32,
    arrivals: Arrivals<'a>,
    next: Rows<'a>,
    initial: Rows<'a>,
}

impl Backward<'_> {
    /// Computes posteriors, and each entry's contribution to earlier states: loops add to the β of their state, others
    /// to their own row.
    #[inline(always)]
    fn entries<V: Vector, const FULL: bool, const W: usize>(&mut self, range: &Range<usize>) {
        let Backward { beta, entries, posteriors, arrivals, .. } = self;
        let zero = [V::splat(0.0); W];
        let factor = [V::splat(self.factor); W];
        for symbol in 0..posteriors.rows() {
            store_all::<V, FULL, W>(zero, posteriors.row(symbol), range);
        }
        let scale = load_all::<V, FULL, W>(arrivals.scale.row(0), range);
        let shared = load_all::<V, FULL, W>(self.shared.row(0), range);
        for state in 0..beta.rows() {
            let further = add(load_all::<V, FULL, W>(beta.row(state), range), shared);
            let weighted = mul(factor, further);
            // The main entry's share is the remainder.
            let mut left = load_all::<V, FULL, W>(self.next.row(state), range);
            let mut own = zero;
            for entry in arrivals.others(state) {
                let (likelihood, arrived) = arrivals.at::<V, FULL, W>(entry, scale, range);
                left = sub(left, arrived);
                let emission = arrivals.hmm.entry_emissions[entry] as usize;
                add_to::<V, FULL, W>(posteriors.row(emission), mul(weighted, arrived), range);
                let given = mul(likelihood, further);
                match arrivals.hmm.into.of(entry) {
                    // A loop.
                    [term] if term.row as usize == state => {
                        own = add(own, mul([V::splat(term.factor); W], given));
                    }
                    _ => store_all::<V, FULL, W>(given, entries.row(entry), range),
                }
            }
            store_all::<V, FULL, W>(own, beta.row(state), range);
            let emission = arrivals.hmm.entry_emissions[state] as usize;
            let left = larger(zero, left);
            add_to::<V, FULL, W>(posteriors.row(emission), mul(weighted, left), range);
            let likelihood = load_all::<V, FULL, W>(arrivals.likelihoods.row(emission), range);
            store_all::<V, FULL, W>(mul(likelihood, further), entries.row(state), range);
        }
    }

    /// Adds the contributions of other states' entries to the loops' contributions to β.
    #[inline(always)]
    fn sums<V: Vector, const FULL: bool, const W: usize>(&mut self, range: &Range<usize>) {
        let hmm = self.arrivals.hmm;
        let entries = self.entries.read();
        let scale = load_all::<V, FULL, W>(self.arrivals.scale.row(0), range);
        let mut totals = Totals::new();
        for states in hmm.backward_order.chunks(BLOCK) {
            let mut block = [V::splat(0.0); W];
            for &state in states {
                let state = state as usize;
                let terms = hmm.out.starts[state] as usize..hmm.out_loops[state] as usize;
                let sum = sum::<V, FULL, W>(&hmm.out.terms[terms], entries, range);
                let own = load_all::<V, FULL, W>(self.beta.row(state), range);
                let beta = mul(add(sum, own), scale);
                store_all::<V, FULL, W>(beta, self.beta.row(state), range);
                block = add(block, mul([V::splat(self.initial.first(state)); W], beta));
            }
            totals.add(block);
        }
        totals.write(&mut self.shared.row(0)[range.clone()], self.arrivals.leak);
    }

    #[inline(always)]
    fn columns<V: Vector, const FULL: bool, const W: usize>(&mut self, range: Range<usize>) {
        self.entries::<V, FULL, W>(&range);
        self.sums::<V, FULL, W>(&range);
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
    fn hmm_forward(&self, next: ViewMut<'_>, total: ViewMut<'_>, hmm: &Hmm, step: HmmStep<'_>) {
        let n = step.check(hmm);
        shape(&next.as_view(), hmm.states(), n);
        shape(&total.as_view(), 1, n);
        let sources = [step.alpha, step.likelihoods, step.scale];
        let ([next, total], [alpha, likelihoods, scale]) = split_all([next, total], sources);
        simd::run(Forward {
            next,
            total,
            arrivals: Arrivals { hmm, alpha, likelihoods, scale, leak: step.leak },
        });
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
        let sources = [step.alpha, step.likelihoods, step.scale, next, way.initial];
        let destinations = [way.beta, way.shared, way.entries, posteriors];
        let (destinations, [alpha, likelihoods, scale, next, initial]) = split_all(destinations, sources);
        let [beta, shared, entries, posteriors] = destinations;
        let arrivals = Arrivals { hmm, alpha, likelihoods, scale, leak: step.leak };
        simd::run(Backward { beta, shared, entries, posteriors, factor, arrivals, next, initial });
    }
}
