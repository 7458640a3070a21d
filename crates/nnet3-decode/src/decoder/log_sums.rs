//! Costs of several words of the language model together: minus the logarithm of their summed probabilities.
//!
//! The order of additions and their precision are those of OpenFst's `FastLogAccumulator`, so that a search with
//! look-ahead finds the costs that Kaldi finds.

use std::ops::Range;

use kaldi_fst::StateId;

use super::grammar::Grammar;

/// States with at least this many arcs have cumulative sums.
const STORED_FROM: usize = 20;
/// Number of arcs between two cumulative sums.
const PERIOD: usize = 10;

/// The arcs of a state of the language model.
pub(super) struct GrammarArcs<'a> {
    pub grammar: &'a Grammar,
    pub state: StateId,
    /// The costs of the arcs with input labels.
    pub costs: &'a [f32],
    /// The number of arcs without, which come before.
    pub epsilons: usize,
}

impl GrammarArcs<'_> {
    /// Returns the cost of all that `cost` stands for, and of a range of arcs with input labels. `cumulative` gives the
    /// cumulative costs if they are needed.
    pub fn add<'s>(&self, cost: f32, range: Range<usize>, cumulative: impl FnOnce() -> &'s [f64]) -> f32 {
        let &GrammarArcs { costs, epsilons, .. } = self;
        let add_arcs =
            |cost, positions: Range<usize>| positions.fold(cost, |sum, p| plus(sum, costs[p - epsilons]));
        // Positions among all arcs.
        let (begin, end) = (range.start + epsilons, range.end + epsilons);
        if epsilons + costs.len() < STORED_FROM {
            return add_arcs(cost, begin..end);
        }
        let (first, last) = (begin.div_ceil(PERIOD), end / PERIOD);
        let mut sum = add_arcs(cost, begin..end.min(first * PERIOD));
        if first < last {
            let stored = cumulative();
            let (more, less) = (stored[last], stored[first]);
            // (If they are equal, these arcs are too improbable to count.)
            if more < less {
                sum = plus(sum, minus(more, less));
            }
        }
        add_arcs(sum, (first.max(last) * PERIOD).min(end)..end)
    }

    /// The costs of the first 0, 10, 20, … arcs together.
    pub fn cumulative(&self) -> Vec<f64> {
        let all = self.grammar.epsilons(self.state).map(|arc| arc.weight).chain(self.costs.iter().copied());
        let mut sums = vec![f64::INFINITY];
        let mut sum = f64::INFINITY;
        for (count, cost) in (1..).zip(all) {
            sum = plus_f64(sum, f64::from(cost));
            if count % PERIOD == 0 {
                sums.push(sum);
            }
        }
        sums
    }
}

/// −ln(exp(−a) + exp(−b)), rounded to single precision.
pub(super) fn plus(a: f32, b: f32) -> f32 {
    if a == f32::INFINITY { b } else { plus_f64(f64::from(a), f64::from(b)) as f32 }
}

fn plus_f64(a: f64, b: f64) -> f64 {
    if a == f64::INFINITY {
        return b;
    }
    let (less, more) = if a > b { (b, a) } else { (a, b) };
    if more == f64::INFINITY { less } else { less - (1.0 + (less - more).exp()).ln() }
}

/// −ln(exp(−a) − exp(−b)) for a < b, rounded to single precision.
fn minus(a: f64, b: f64) -> f32 {
    if b == f64::INFINITY { a as f32 } else { (a - (1.0 - (a - b).exp()).ln()) as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_fst::{Arc, FlatFst, Fst};

    /// A state with arcs, of which the first have no label.
    fn grammar(costs: &[f32], epsilons: usize) -> Grammar {
        let mut fst = Fst::default();
        (0..2).for_each(|_| _ = fst.add_state());
        fst.start = Some(0);
        fst.states[0].arcs = costs
            .iter()
            .zip(0..)
            .map(|(&weight, i)| {
                let label = (i - epsilons as i32 + 1).max(0);
                Arc { ilabel: label, olabel: label, weight, next: 1 }
            })
            .collect();
        Grammar::from(FlatFst::from(&fst))
    }

    #[test]
    fn sums_of_ranges() {
        let mut random = fastrand::Rng::with_seed(3);
        for (count, epsilons) in [(5, 0), (19, 1), (20, 0), (21, 1), (57, 2), (300, 1)] {
            let all: Vec<f32> = (0..count).map(|_| 8.0 * random.f32()).collect();
            let grammar = grammar(&all, epsilons);
            let (_, costs) = grammar.labels_and_costs(0);
            assert_eq!(costs, &all[epsilons..]);
            let arcs = GrammarArcs { grammar: &grammar, state: 0, costs, epsilons };
            let sums = arcs.cumulative();
            for _ in 0..50 {
                let begin = random.usize(0..costs.len());
                let range = begin..random.usize(begin + 1..=costs.len());
                for start in [f32::INFINITY, 1.5] {
                    let probability = |cost: f32| f64::from(-cost).exp();
                    let exact: f64 = costs[range.clone()].iter().map(|&cost| probability(cost)).sum();
                    let exact = -(exact + probability(start)).ln();
                    let found = arcs.add(start, range.clone(), || &sums);
                    assert!((f64::from(found) - exact).abs() < 1e-5, "{count} {range:?} {found} {exact}");
                }
            }
        }
    }

    #[test]
    fn nothing_and_impossible_words() {
        assert_eq!(plus(f32::INFINITY, 2.0), 2.0);
        assert_eq!(plus(2.0, f32::INFINITY), 2.0);
        assert_eq!(plus(f32::INFINITY, f32::INFINITY), f32::INFINITY);
        assert_eq!(minus(1.0, f64::INFINITY), 1.0);
    }
}
