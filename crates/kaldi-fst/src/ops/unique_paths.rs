//! Cheapest paths with different strings. The acceptor is determinized only as far as these paths lead.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use rustc_hash::FxHashMap;

use super::distances_to_end;
use super::shortest_distance::Cost;
use crate::error::{Error, Result};
use crate::fst::{Arc, Fst, StateId};
use crate::weight::quantize;

/// Residual costs are rounded to multiples of this, so that sets which differ by rounding are one.
const DELTA: f32 = 1.0 / 1024.0;
/// Sets of states, after which the search gives up.
const MOST_SETS: usize = 10_000_000;

/// States with residual costs, in the order of states; the least residual is 0.
type Subset = Vec<(StateId, f32)>;

struct Set {
    states: Subset,
    /// The cost of its cheapest path to an end.
    to_end: f32,
    /// The cost of ending here.
    end: f32,
    /// Arcs by label: cost and set; `None` until they are needed.
    arcs: Option<Vec<(i32, f32, usize)>>,
    visits: usize,
}

struct Sets<'f> {
    fst: &'f Fst,
    to_end: Vec<f32>,
    numbers: FxHashMap<Vec<(StateId, u32)>, usize>,
    all: Vec<Set>,
}

impl Sets<'_> {
    fn find(&mut self, states: Subset) -> Result<usize> {
        let key = states.iter().map(|&(state, cost)| (state, quantize(cost, DELTA).to_bits())).collect();
        if let Some(&number) = self.numbers.get(&key) {
            return Ok(number);
        }
        let number = self.all.len();
        if number >= MOST_SETS {
            return Err(Error::TooManyStates { limit: MOST_SETS });
        }
        let least = |costs: &mut dyn Iterator<Item = f32>| costs.fold(f32::INFINITY, f32::min);
        let to_end = least(&mut states.iter().map(|&(state, cost)| cost + self.to_end[state as usize]));
        let end = least(&mut states.iter().map(|&(state, cost)| cost + self.fst.state(state).final_weight));
        self.all.push(Set { states, to_end, end, arcs: None, visits: 0 });
        self.numbers.insert(key, number);
        Ok(number)
    }

    /// Arcs that lead to an end, in the order of labels.
    fn arcs(&mut self, number: usize) -> Result<Vec<(i32, f32, usize)>> {
        if let Some(arcs) = &self.all[number].arcs {
            return Ok(arcs.clone());
        }
        let mut by_label: BTreeMap<i32, BTreeMap<StateId, f32>> = BTreeMap::new();
        for &(state, residual) in &self.all[number].states {
            for arc in &self.fst.state(state).arcs {
                let cost = residual + arc.weight;
                if cost + self.to_end[arc.next as usize] < f32::INFINITY {
                    let known = by_label.entry(arc.ilabel).or_default().entry(arc.next).or_insert(cost);
                    *known = known.min(cost);
                }
            }
        }
        let mut arcs = Vec::with_capacity(by_label.len());
        for (label, states) in by_label {
            let least = states.values().copied().fold(f32::INFINITY, f32::min);
            let states = states.into_iter().map(|(state, cost)| (state, cost - least)).collect();
            arcs.push((label, least, self.find(states)?));
        }
        self.all[number].arcs = Some(arcs.clone());
        Ok(arcs)
    }
}

/// Returns the cheapest paths of an acceptor with different strings, at most `count`, the cheapest first: their arcs, whose next
/// states have no meaning, and final costs. No label counts as a label.
///
/// Paths that cost more than the cheapest one plus `beam` are left out. Fails for a cycle of negative cost, and if the search has
/// no end.
pub fn unique_shortest_paths(fst: &Fst, count: usize, beam: f32) -> Result<Vec<(Vec<Arc>, f32)>> {
    fst.check_acceptor()?;
    let mut found = Vec::new();
    let to_end = distances_to_end(fst)?;
    let Some(start) = fst.start.filter(|&start| to_end[start as usize] < f32::INFINITY) else {
        return Ok(found);
    };
    let most = to_end[start as usize] + beam;
    let mut sets = Sets { fst, to_end, numbers: FxHashMap::default(), all: Vec::new() };
    let first = sets.find(vec![(start, 0.0)])?;
    // Last arcs of beginnings of paths, and the beginnings before them.
    let mut parts: Vec<(Option<usize>, Arc)> = Vec::new();
    // Beginnings by the cost of their cheapest completion; complete paths have no set. The older one comes first.
    let mut heap =
        BinaryHeap::from([Reverse((Cost(sets.all[first].to_end), 0, Cost(0.0), Some(first), None))]);
    let mut made = 0;
    while let Some(Reverse((_, _, Cost(cost), set, last))) = heap.pop() {
        let Some(set) = set else {
            found.push((path(&parts, last), cost));
            if found.len() == count {
                break;
            }
            continue;
        };
        // As often as this, a set is on one of the paths.
        if sets.all[set].visits == count {
            continue;
        }
        sets.all[set].visits += 1;
        let end = sets.all[set].end;
        if end < f32::INFINITY && cost + end <= most {
            made += 1;
            heap.push(Reverse((Cost(cost + end), made, Cost(end), None, last)));
        }
        for (label, weight, next) in sets.arcs(set)? {
            let total = cost + weight + sets.all[next].to_end;
            if total <= most {
                made += 1;
                parts.push((last, Arc::new(label, weight, 0)));
                let place = Some(parts.len() - 1);
                heap.push(Reverse((Cost(total), made, Cost(cost + weight), Some(next), place)));
            }
        }
    }
    Ok(found)
}

fn path(parts: &[(Option<usize>, Arc)], mut last: Option<usize>) -> Vec<Arc> {
    let mut arcs = Vec::new();
    while let Some((before, arc)) = last.and_then(|last| parts.get(last)) {
        arcs.push(*arc);
        last = *before;
    }
    arcs.reverse();
    arcs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two readings of a word with loops: the machine has no deterministic form.
    #[test]
    fn strings_of_a_machine_without_a_deterministic_form() {
        let mut fst = Fst { start: Some(0), ..Fst::default() };
        fst.states.resize_with(4, Default::default);
        fst.states[0].arcs = vec![Arc::new(1, 0.5, 1), Arc::new(1, 0.7, 2)];
        fst.states[1].arcs = vec![Arc::new(2, 0.3, 1), Arc::new(3, 1.0, 3)];
        fst.states[2].arcs = vec![Arc::new(2, 0.6, 2), Arc::new(3, 0.2, 3)];
        fst.states[3].final_weight = 0.0;
        let paths = unique_shortest_paths(&fst, 5, f32::INFINITY).unwrap();
        let seen: Vec<(Vec<i32>, f32)> = paths
            .iter()
            .map(|(arcs, end)| {
                let cost: f32 = arcs.iter().map(|arc| arc.weight).sum::<f32>() + end;
                (arcs.iter().map(|arc| arc.ilabel).collect(), (cost * 100.0).round() / 100.0)
            })
            .collect();
        // With n times 2: min(1.5 + 0.3 n, 0.9 + 0.6 n).
        let expected = |n: usize| {
            let cost = (1.5 + 0.3 * n as f32).min(0.9 + 0.6 * n as f32);
            ([vec![1], vec![2; n], vec![3]].concat(), (cost * 100.0).round() / 100.0)
        };
        assert_eq!(seen, (0..5).map(expected).collect::<Vec<_>>());
        assert_eq!(unique_shortest_paths(&fst, 5, 0.7).unwrap().len(), 2);
    }
}
