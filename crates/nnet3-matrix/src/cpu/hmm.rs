//! Steps of the forward and backward recursions of hidden Markov models, sixteen sequences at a time.

use super::access::{Rows, RowsMut, overlap, split};
use super::simd::{self, Kernel, Simd};
use super::vector::Vector;
use crate::hmm::{Hmm, HmmStep, Term, shape};
use crate::view::{View, ViewMut};
use std::ops::Range;

/// How many sequences are worked on at once. With these, what a step of a large model reads again and again stays in the second-level
/// cache: 64 bytes for each state and each symbol.
pub(super) const COLUMNS: usize = 16;

/// Evaluates the last argument for each range of sixteen columns, then for what is left over. The name before is whether they are
/// sixteen.
macro_rules! each_columns {
    ($cols:expr, $range:ident, $full:ident, $body:expr) => {
        let cols: usize = $cols;
        let mut start = 0;
        while start + COLUMNS <= cols {
            let $range = start..start + COLUMNS;
            const $full: bool = true;
            $body;
            start += COLUMNS;
        }
        if start < cols {
            let $range = start..cols;
            const $full: bool = false;
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

/// A function, since a closure would not be compiled for the vectors of its surroundings.
#[inline(always)]
fn add_to<V: Vector, const FULL: bool>(row: &mut [f32], value: V) {
    let old = load::<V, FULL>(row);
    store::<V, FULL>(old.add(value), row);
}

/// Σ factor · row over the terms. In four sums, as each waits for the product before.
#[inline(always)]
fn sum<V: Vector, const FULL: bool>(terms: &[Term], rows: Rows<'_>, range: &Range<usize>) -> V {
    let value = |term: &Term| load::<V, FULL>(&rows.row(term.row as usize)[range.clone()]);
    let mut sums = [V::splat(0.0); 4];
    let (fours, rest) = terms.as_chunks::<4>();
    for four in fours {
        for k in 0..4 {
            sums[k] = V::splat(four[k].factor).mul_add(value(&four[k]), sums[k]);
        }
    }
    for (k, term) in rest.iter().enumerate() {
        sums[k] = V::splat(term.factor).mul_add(value(term), sums[k]);
    }
    sums[0].add(sums[1]).add(sums[2].add(sums[3]))
}

/// What of the step arrives in an entry.
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
    fn at<V: Vector, const FULL: bool>(&self, entry: usize, scale: V, range: &Range<usize>) -> (V, V) {
        let sum = sum::<V, FULL>(self.hmm.into.of(entry), self.alpha, range);
        let emission = self.hmm.entry_emissions[entry] as usize;
        let likelihood = load::<V, FULL>(&self.likelihoods.row(emission)[range.clone()]);
        let leaked = V::splat(self.leak * self.hmm.entry_leaks[entry]);
        (likelihood, likelihood.mul(sum.mul_add(scale, leaked)))
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
    fn columns<V: Vector, const FULL: bool>(&mut self, range: Range<usize>) {
        let arrivals = &self.arrivals;
        let scale = load::<V, FULL>(&arrivals.scale.row(0)[range.clone()]);
        for state in 0..self.next.rows() {
            let (_, mut total) = arrivals.at::<V, FULL>(state, scale, &range);
            for entry in arrivals.others(state) {
                total = total.add(arrivals.at::<V, FULL>(entry, scale, &range).1);
            }
            store::<V, FULL>(total, &mut self.next.row(state)[range.clone()]);
        }
    }
}

impl Kernel for Forward<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        each_columns!(self.next.cols(), range, FULL, self.columns::<S::V, FULL>(range));
    }
}

pub(super) fn forward(next: ViewMut<'_>, hmm: &Hmm, step: HmmStep<'_>) {
    let n = step.check(hmm);
    shape(&next.as_view(), hmm.states(), n);
    let (next, [alpha, likelihoods, scale]) = split(next, [step.alpha, step.likelihoods, step.scale]);
    simd::run(Forward { next, arrivals: Arrivals { hmm, alpha, likelihoods, scale, leak: step.leak } });
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
    fn columns<V: Vector, const FULL: bool>(&mut self, range: Range<usize>) {
        let Entries { entries, posteriors, arrivals, .. } = self;
        let zero = V::splat(0.0);
        for symbol in 0..posteriors.rows() {
            store::<V, FULL>(zero, &mut posteriors.row(symbol)[range.clone()]);
        }
        let scale = load::<V, FULL>(&arrivals.scale.row(0)[range.clone()]);
        let shared = load::<V, FULL>(&self.shared.row(0)[range.clone()]);
        for state in 0..self.beta.rows() {
            let beta = load::<V, FULL>(&self.beta.row(state)[range.clone()]).add(shared);
            // What the main entry had is what is left.
            let mut left = load::<V, FULL>(&self.next.row(state)[range.clone()]);
            for entry in arrivals.others(state) {
                let (likelihood, arrived) = arrivals.at::<V, FULL>(entry, scale, &range);
                left = left.sub(arrived);
                let emission = arrivals.hmm.entry_emissions[entry] as usize;
                add_to::<V, FULL>(&mut posteriors.row(emission)[range.clone()], beta.mul(arrived));
                store::<V, FULL>(likelihood.mul(beta), &mut entries.row(entry)[range.clone()]);
            }
            let emission = arrivals.hmm.entry_emissions[state] as usize;
            add_to::<V, FULL>(&mut posteriors.row(emission)[range.clone()], beta.mul(zero.larger(left)));
            let likelihood = load::<V, FULL>(&arrivals.likelihoods.row(emission)[range.clone()]);
            store::<V, FULL>(likelihood.mul(beta), &mut entries.row(state)[range.clone()]);
        }
    }
}

impl Kernel for Entries<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        each_columns!(self.beta.cols(), range, FULL, self.columns::<S::V, FULL>(range));
    }
}

pub(super) fn entries(
    entries: ViewMut<'_>,
    posteriors: ViewMut<'_>,
    hmm: &Hmm,
    step: HmmStep<'_>,
    [next, beta, shared]: [View<'_>; 3],
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

struct Backward<'a> {
    beta: RowsMut<'a>,
    hmm: &'a Hmm,
    entries: Rows<'a>,
    scale: Rows<'a>,
}

impl Backward<'_> {
    #[inline(always)]
    fn columns<V: Vector, const FULL: bool>(&mut self, range: Range<usize>) {
        let scale = load::<V, FULL>(&self.scale.row(0)[range.clone()]);
        for &state in &self.hmm.backward_order {
            let state = state as usize;
            let sum = sum::<V, FULL>(self.hmm.out.of(state), self.entries, &range);
            store::<V, FULL>(sum.mul(scale), &mut self.beta.row(state)[range.clone()]);
        }
    }
}

impl Kernel for Backward<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        each_columns!(self.beta.cols(), range, FULL, self.columns::<S::V, FULL>(range));
    }
}

pub(super) fn backward(beta: ViewMut<'_>, hmm: &Hmm, entries: View<'_>, scale: View<'_>) {
    let n = beta.cols();
    shape(&beta.as_view(), hmm.states(), n);
    shape(&entries, hmm.entries(), n);
    shape(&scale, 1, n);
    let (beta, [entries, scale]) = split(beta, [entries, scale]);
    simd::run(Backward { beta, hmm, entries, scale });
}
