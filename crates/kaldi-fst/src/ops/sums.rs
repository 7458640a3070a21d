//! Sums of the probabilities of all paths (Mohri, "Semiring frameworks and algorithms for shortest-distance problems", 2002).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::components::Components;
use super::{Semiring, distances_from_start, distances_to_end, reverse};
use crate::error::{Error, Result};
use crate::fst::{Fst, StateId};

/// The share of a sum, as a cost, that is left out at the end of a cycle.
const DELTA: f64 = 1e-10;
/// Rounds through a state, after which a sum is taken for infinite.
const MOST_ROUNDS: u32 = 100_000;

/// The cost of all paths from the start to each state: the cheapest one, or the sum of all.
///
/// Fails if there is none: for a cycle of negative cost, or of a probability of 1 or more.
pub fn costs_from_start(fst: &Fst, semiring: Semiring) -> Result<Vec<f32>> {
    match semiring {
        Semiring::Tropical => distances_from_start(fst),
        Semiring::Log => sums(fst),
    }
}

/// The cost of all paths from each state to an end, the final cost included.
pub fn costs_to_end(fst: &Fst, semiring: Semiring) -> Result<Vec<f32>> {
    match semiring {
        Semiring::Tropical => distances_to_end(fst),
        Semiring::Log => {
            let sums = sums(&reverse(fst)).map_err(|error| match error {
                Error::NoSum { state } => Error::NoSum { state: state.saturating_sub(1) },
                other => other,
            })?;
            Ok(sums.get(1..).unwrap_or_default().to_vec())
        }
    }
}

fn plus(a: f64, b: f64) -> f64 {
    let (less, more) = if a <= b { (a, b) } else { (b, a) };
    if more == f64::INFINITY { less } else { less - (less - more).exp().ln_1p() }
}

/// Goes through the components in topological order. Within one, states pass on what has been added to them since the last
/// time, in the order in which they wait.
fn sums(fst: &Fst) -> Result<Vec<f32>> {
    let count = fst.states.len();
    let mut sums = vec![f64::INFINITY; count];
    let Some(start) = fst.start else { return Ok(Vec::new()) };
    let components = Components::of(fst);
    let mut added = vec![f64::INFINITY; count];
    let mut rounds = vec![0; count];
    let mut waits = vec![false; count];
    let mut turn = 0_u64;
    (sums[start as usize], added[start as usize], waits[start as usize]) = (0.0, 0.0, true);
    let key = |s: StateId, turn: u64| (Reverse(components.number[s as usize]), turn);
    let mut waiting = BTreeMap::from([(key(start, turn), start)]);
    while let Some((_, s)) = waiting.pop_first() {
        let own = std::mem::replace(&mut added[s as usize], f64::INFINITY);
        waits[s as usize] = false;
        rounds[s as usize] += 1;
        if rounds[s as usize] > MOST_ROUNDS {
            return Err(Error::NoSum { state: s });
        }
        for arc in &fst.state(s).arcs {
            let next = arc.next as usize;
            let new = own + f64::from(arc.weight);
            let sum = plus(sums[next], new);
            if sum == sums[next] || (sums[next] - sum < DELTA && components.same(s as usize, next)) {
                continue;
            }
            sums[next] = sum;
            added[next] = plus(added[next], new);
            if !std::mem::replace(&mut waits[next], true) {
                turn += 1;
                waiting.insert(key(arc.next, turn), arc.next);
            }
        }
    }
    Ok(sums.into_iter().map(|sum| sum as f32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fst::Arc;

    /// A cycle of probability 1/4 before an end of probability 1/2.
    #[test]
    fn cycles_are_geometric_series() {
        let cost = |probability: f32| -probability.ln();
        let mut fst = Fst::default();
        fst.states.resize_with(3, Default::default);
        fst.start = Some(0);
        fst.states[0].arcs = vec![Arc::new(1, cost(0.5), 1), Arc::new(2, cost(0.5), 2)];
        fst.states[1].arcs = vec![Arc::new(1, cost(0.5), 0)];
        fst.states[2].final_weight = cost(0.5);
        let from = costs_from_start(&fst, Semiring::Log).unwrap();
        let near = |found: f32, probability: f32| (found - cost(probability)).abs() < 1e-6;
        assert!(near(from[0], 4.0 / 3.0) && near(from[1], 2.0 / 3.0) && near(from[2], 2.0 / 3.0), "{from:?}");
        let to = costs_to_end(&fst, Semiring::Log).unwrap();
        assert!(near(to[0], 1.0 / 3.0) && near(to[1], 1.0 / 6.0) && near(to[2], 0.5), "{to:?}");
        fst.states[1].arcs[0].weight = cost(2.0);
        assert!(matches!(costs_from_start(&fst, Semiring::Log), Err(Error::NoSum { .. })));
    }
}
